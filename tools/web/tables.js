// Members, views and topics. Texts come from other processes: they are put in as texts, never as markup.
import {put, shown} from './readings.js';

function element(name, className, text = '') {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function roleOf(member, self) {
  if (member.flies) return 'flies';
  return member.node === self ? 'this page' : 'looks on';
}

function detailOf(member) {
  if (member.state === 'gone') return [member.reason];
  if (member.process === 0) return [''];
  const parts = [`process ${member.process}`];
  if (member.flies && member.state === 'alive') parts.push(' · try ', element('code', '', `kill -9 ${member.process}`));
  return parts;
}

export function showMembers(members, self) {
  document.getElementById('members').replaceChildren(...members.map((member) => {
    const row = document.createElement('li');
    row.dataset.node = member.node;
    row.dataset.state = member.state;
    const detail = element('span', 'detail');
    detail.append(...detailOf(member));
    const name = element('span', 'name', `node ${member.node}`);
    name.append(element('small', '', ` ${roleOf(member, self)}`));
    row.append(element('span', 'dot'), name, element('span', 'state', member.state), detail);
    return row;
  }));
}

export function showNews(news) {
  document.getElementById('news').replaceChildren(...news.map((line) => element('li', '', line)));
}

export function showTopics(topics) {
  const rows = [...topics].sort((one, other) => other.samples - one.samples || one.name.localeCompare(other.name));
  const most = Math.max(1, ...rows.map((each) => each.rate));
  document.getElementById('topics').replaceChildren(...rows.map(({name, rate, samples}) => {
    const row = document.createElement('tr');
    const bar = element('div', 'bar');
    bar.style.width = `${(100 * rate) / most}%`;
    const cell = document.createElement('td');
    cell.append(bar);
    row.append(element('td', '', name), element('td', '', shown(rate, rate < 10 ? 1 : 0)), cell, element('td', '', `${samples}`));
    return row;
  }));
  put('topic-count', `${rows.length}`);
  put('all-rate', shown(rows.reduce((sum, each) => sum + each.rate, 0), 0));
}
