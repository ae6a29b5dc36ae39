// From the stream of events to the page. What came is drawn when the browser draws next, so that one that is slow draws less.
import {drawHorizon} from './horizon.js';
import {drawMap, Trail} from './map.js';
import {attitudeOf, heightOf, put, shown} from './readings.js';
import {showMembers, showNews, showTopics} from './tables.js';

const trail = new Trail();
let attitude = null;
let drawn = true;

function draw() {
  drawn = true;
  drawHorizon(document.getElementById('horizon'), attitude);
  drawMap(document.getElementById('map'), trail, attitude?.heading);
}

function drawSoon() {
  if (drawn) requestAnimationFrame(draw);
  drawn = false;
}

function showFlight(flight) {
  const {vehicle_attitude: turned, vehicle_local_position: local, place, airspeed, battery_status: battery} = flight;
  if (turned) {
    attitude = attitudeOf(turned.q) ?? attitude;
    put('time', shown(turned.timestamp / 1e6, 1));
    put('roll', shown(attitude?.roll, 1));
    put('pitch', shown(attitude?.pitch, 1));
    put('heading', shown(attitude?.heading, 0));
  }
  if (local) {
    const {height, climb} = heightOf(local);
    put('height', shown(height, 2));
    put('climb', shown(climb, 2));
  }
  if (place) {
    trail.add(place);
    put('ground-speed', shown(place.speed, 2));
    put('source', `by its ${place.source}, north up`);
  }
  if (airspeed) put('airspeed', shown(airspeed.true_airspeed_m_s, 1));
  if (battery) put('battery', shown(battery.voltage_v, 1));
}

function showSummary(frame) {
  showMembers(frame.members, frame.self);
  showNews(frame.news);
  showTopics(frame.topics);
  put('view', `${frame.view}`);
  put('browsers', `${frame.browsers}`);
  put('lost', `${frame.lost}`);
}

function showLink(state, text) {
  document.getElementById('link').dataset.state = state;
  put('link', text);
  document.body.classList.toggle('over', state === 'over');
}

const events = new EventSource('/events');
events.addEventListener('beginning', (event) => {
  trail.set(JSON.parse(event.data).track);
  showLink('live', 'live');
});
events.addEventListener('dropped', (event) => put('dropped', event.data));
events.addEventListener('message', (event) => {
  const frame = JSON.parse(event.data);
  if (frame.flight) showFlight(frame.flight);
  if (frame.members) showSummary(frame);
  drawSoon();
});
events.addEventListener('error', () => showLink('over', 'the flight has ended, or is out of reach'));

document.getElementById('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  drawSoon();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawSoon);
addEventListener('resize', drawSoon);
