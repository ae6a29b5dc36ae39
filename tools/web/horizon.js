// The artificial horizon: the earth turns, the craft in the middle does not.
import {color, prepared} from './readings.js';

const RADIANS = Math.PI / 180;
const PITCH_SHOWN = 50; // degrees from one edge to the other

function line(context, ...points) {
  context.beginPath();
  points.forEach(([x, y], at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.stroke();
}

function drawLadder(context, perDegree) {
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (let degrees = -90; degrees <= 90; degrees += 5) {
    if (degrees === 0) continue;
    const long = degrees % 10 === 0;
    const half = long ? 34 : 16;
    const y = -degrees * perDegree;
    line(context, [-half, y], [half, y]);
    if (!long) continue;
    context.textAlign = 'right';
    context.fillText(`${Math.abs(degrees)}`, -half - 6, y);
    context.textAlign = 'left';
    context.fillText(`${Math.abs(degrees)}`, half + 6, y);
  }
}

function drawRollScale(context, radius) {
  for (const degrees of [-60, -45, -30, -20, -10, 0, 10, 20, 30, 45, 60]) {
    const long = degrees % 30 === 0;
    const [sin, cos] = [Math.sin(degrees * RADIANS), -Math.cos(degrees * RADIANS)];
    const inner = radius - (long ? 14 : 9);
    line(context, [sin * inner, cos * inner], [sin * radius, cos * radius]);
  }
}

function triangle(context, tip, base, half) {
  context.beginPath();
  context.moveTo(0, tip);
  context.lineTo(-half, base);
  context.lineTo(half, base);
  context.fill();
}

function drawCraft(context, radius) {
  context.strokeStyle = color('craft');
  context.lineWidth = 4;
  context.lineCap = 'round';
  line(context, [-radius * 0.5, 0], [-radius * 0.2, 0], [-radius * 0.1, radius * 0.08]);
  line(context, [radius * 0.5, 0], [radius * 0.2, 0], [radius * 0.1, radius * 0.08]);
  context.fillStyle = color('craft');
  context.beginPath();
  context.arc(0, 0, 3.5, 0, 2 * Math.PI);
  context.fill();
}

function drawEarth(context, radius, perDegree, pitch) {
  context.translate(0, pitch * perDegree);
  context.fillStyle = color('earth');
  context.fillRect(-3 * radius, 0, 6 * radius, 6 * radius);
  context.strokeStyle = context.fillStyle = color('mark');
  context.lineWidth = 2;
  line(context, [-3 * radius, 0], [3 * radius, 0]);
  context.lineWidth = 1.5;
  drawLadder(context, perDegree);
}

export function drawHorizon(canvas, attitude) {
  const {context, width, height} = prepared(canvas);
  const radius = Math.min(width, height) / 2 - 3;
  if (radius <= 0) return;
  context.clearRect(0, 0, width, height);
  context.save();
  context.translate(width / 2, height / 2);
  context.beginPath();
  context.arc(0, 0, radius, 0, 2 * Math.PI);
  context.clip();
  context.fillStyle = color('sky');
  context.fillRect(-radius, -radius, 2 * radius, 2 * radius);
  if (attitude) {
    context.rotate(-attitude.roll * RADIANS);
    context.save();
    drawEarth(context, radius, 2 * radius / PITCH_SHOWN, attitude.pitch);
    context.restore();
    context.strokeStyle = color('mark');
    drawRollScale(context, radius - 4);
    context.rotate(attitude.roll * RADIANS);
    context.fillStyle = color('craft');
    triangle(context, -radius + 20, -radius + 33, 7);
    drawCraft(context, radius);
  }
  context.restore();
}
