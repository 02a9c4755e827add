// The side panel of a selection: a node with what runs on it, or a domain with its nodes. Built from the model alone.
import type { Words } from './describe';
import type { Links } from './links';
import type { Messages } from './messages';
import type { Model } from './model';

export class Detail {
  constructor(private readonly host: HTMLElement | null, private readonly words: Words, private readonly messages: Messages, private readonly links: Links) {}

  clear(): void { this.host?.replaceChildren(); }

  node(model: Model, node: number, picked: string): void {
    const name = model.names[node]!;
    const { messages } = this;
    const rows = this.words.holders(model, node).map(([key, gpus, isGroup]) => [
      isGroup ? link(key, this.links.group(key)) : key,
      messages.count(gpus),
      isGroup ? pickButton(key, messages.say(key === picked ? 'unpick' : 'pick'), key === picked) : '',
    ]);
    this.fill(
      heading(name), line(this.words.node(model, node)),
      ...(rows.length ? [table([messages.say('column_group'), messages.say('column_gpus'), ''], rows)] : []),
      paragraph(link(messages.say('openNode'), this.links.node(name))),
    );
  }

  domain(model: Model, domain: number, nodes: number[], sentence: string): void {
    const { messages } = this;
    const rows = nodes.map((node) => [
      link(model.names[node]!, this.links.node(model.names[node]!)),
      `${messages.count(model.free(node))}/${messages.count(model.gpus[node]!)}`,
      this.words.states(model, node).map((key) => messages.say(key)).join(', '),
    ]);
    this.fill(
      heading(this.words.domainName(model, domain)), line(sentence),
      ...(domain >= 0 ? [paragraph(link(messages.say('openDomain'), this.links.domain(model.domains[domain]!, model.key)))] : []),
      table([messages.say('column_node'), messages.say('column_free'), ''], rows),
    );
  }

  private fill(...content: HTMLElement[]): void { this.host?.replaceChildren(...content); }
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, className: string, ...content: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

const heading = (text: string): HTMLElement => element('h2', '', text);
const line = (text: string): HTMLElement => element('p', 'muted', text);
const paragraph = (content: Node): HTMLElement => element('p', '', content);

function link(text: string, href: string): HTMLAnchorElement {
  const made = element('a', '', text);
  made.href = href;
  return made;
}

function pickButton(key: string, text: string, pressed: boolean): HTMLButtonElement {
  const made = element('button', 'link', text);
  made.type = 'button';
  made.dataset['pick'] = pressed ? '' : key;
  return made;
}

function table(head: string[], rows: (Node | string)[][]): HTMLElement {
  return element('table', '',
    element('thead', '', element('tr', '', ...head.map((text, n) => element('th', n === 1 ? 'n' : '', text)))),
    element('tbody', '', ...rows.map((cells) => element('tr', '', ...cells.map((cell, n) => element('td', n === 1 ? 'n' : '', cell))))),
  );
}
