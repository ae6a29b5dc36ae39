// The map: where the vehicle was, in meters from where it began, north up.
import {color, prepared} from './readings.js';

const POINTS_MAX = 1200;
const SPAN_MIN = 4; // meters

export class Trail {
  constructor() {
    this.points = [];
  }
  set(points) {
    this.points = points.map(([north, east, joined]) => ({north, east, joined}));
    this.here = this.points[this.points.length - 1];
  }
  add(place) {
    this.here = place;
    if (place.kept) this.points.push(place);
    if (this.points.length > POINTS_MAX) this.points.shift();
  }
}

/** 1, 2 or 5 times a power of ten, so that about six steps are in a span. */
function step(span) {
  const power = 10 ** Math.floor(Math.log10(span / 6));
  return power * [1, 2, 5, 10].find((each) => each * power >= span / 6);
}

/** From meters to pixels: all of the trail is inside, and both axes have one scale. */
function frameOf(points, width, height) {
  const norths = points.map((each) => each.north);
  const easts = points.map((each) => each.east);
  const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
  const span = (values) => Math.max(SPAN_MIN, (Math.max(...values) - Math.min(...values)) * 1.25);
  const scale = Math.min(width / span(easts), height / span(norths));
  const [north, east] = [middle(norths), middle(easts)];
  return {
    scale,
    x: (value) => width / 2 + (value - east) * scale,
    y: (value) => height / 2 - (value - north) * scale,
    east: (x) => (x - width / 2) / scale + east,
    north: (y) => (height / 2 - y) / scale + north,
  };
}

function drawGrid(context, frame, width, height) {
  const each = step(Math.min(width, height) / frame.scale);
  const digits = each < 1 ? 1 : 0;
  context.strokeStyle = color('line');
  context.fillStyle = color('quiet');
  context.lineWidth = 1;
  context.font = '11px system-ui, sans-serif';
  context.beginPath();
  context.textAlign = 'left';
  context.textBaseline = 'bottom';
  for (let at = Math.ceil(frame.east(0) / each) * each; at < frame.east(width); at += each) {
    const x = Math.round(frame.x(at)) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
    if (x > 60 && x < width - 20) context.fillText(at.toFixed(digits), x + 3, height - 4);
  }
  for (let at = Math.ceil(frame.north(height) / each) * each; at < frame.north(0); at += each) {
    const y = Math.round(frame.y(at)) + 0.5;
    context.moveTo(0, y);
    context.lineTo(width, y);
    if (y > 36 && y < height - 24) context.fillText(at.toFixed(digits), 6, y - 2);
  }
  context.stroke();
  context.fillText('N, m', 6, 18);
  context.textAlign = 'right';
  context.fillText('E, m', width - 6, height - 18);
}

function drawTrail(context, frame, points) {
  context.strokeStyle = color('accent');
  context.lineWidth = 2.5;
  context.lineJoin = context.lineCap = 'round';
  context.beginPath();
  for (const point of points) context[point.joined ? 'lineTo' : 'moveTo'](frame.x(point.east), frame.y(point.north));
  context.stroke();
}

function drawCraft(context, frame, point, heading) {
  context.save();
  context.translate(frame.x(point.east), frame.y(point.north));
  context.rotate((heading * Math.PI) / 180);
  context.fillStyle = color('craft');
  context.strokeStyle = color('text');
  context.lineWidth = 1.5;
  context.beginPath();
  [[0, -13], [9, 10], [0, 5], [-9, 10]].forEach(([x, y], at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.closePath();
  context.fill();
  context.stroke();
  context.restore();
}

export function drawMap(canvas, trail, heading) {
  const {context, width, height} = prepared(canvas);
  context.clearRect(0, 0, width, height);
  const {points} = trail;
  if (points.length === 0 || width === 0 || height === 0) return;
  const frame = frameOf(points, width, height);
  drawGrid(context, frame, width, height);
  drawTrail(context, frame, points);
  drawCraft(context, frame, trail.here, heading ?? 0);
}
