// What samples say, in units that people read. A number that is none travels as a text, and is null here.

const DEGREES = 180 / Math.PI;

function number(value) {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Roll, pitch and heading in degrees, of a quaternion [w, x, y, z] from the vehicle's axes (front, right, down) to north, east, down. */
export function attitudeOf(q) {
  if (!Array.isArray(q) || q.length !== 4 || q.some((each) => number(each) === null)) return null;
  const [w, x, y, z] = q;
  const roll = Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
  const pitch = Math.asin(Math.max(-1, Math.min(1, 2 * (w * y - z * x))));
  const heading = Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
  return {roll: roll * DEGREES, pitch: pitch * DEGREES, heading: (heading * DEGREES + 360) % 360};
}

/** Meters and meters a second, of a local position, whose third axis points down. */
export function heightOf(sample) {
  const [down, sinking] = [number(sample.z), number(sample.vz)];
  return {height: down === null ? null : -down, climb: sinking === null ? null : -sinking};
}

/** With so many digits behind the point, and the same width whatever the sign; a dash where there is nothing. */
export function shown(value, digits) {
  if (number(value) === null) return '–';
  const text = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(text) !== 0 ? '\u2212' : '') + text;
}

export function put(id, text) {
  const place = document.getElementById(id);
  if (place.textContent !== text) place.textContent = text;
}

/** A context whose pixels are the screen's, and its size in those of the style sheet. */
export function prepared(canvas) {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, {width: wide, height: high});
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return {context, width, height};
}

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
