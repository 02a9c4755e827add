// The search line as a test of a node: node: rack: pg: ns: state: free>=8, or plain text; all words must hold.
import type { Model } from './model';
import { UNLABELLED } from './model';
import { CORDONED, NOT_READY, TAINTED } from './protocol';

export type Test = (model: Model, node: number) => boolean;

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  '>=': (a, b) => a >= b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '<': (a, b) => a < b, '=': (a, b) => a === b,
};

const STATES: Record<string, Test> = {
  cordoned: (model, node) => (model.state[node]! & CORDONED) !== 0,
  lost: (model, node) => (model.state[node]! & NOT_READY) !== 0,
  notready: (model, node) => (model.state[node]! & NOT_READY) !== 0,
  tainted: (model, node) => (model.state[node]! & TAINTED) !== 0,
  unlabelled: (model, node) => model.domain[node] === UNLABELLED,
};

/** null when the line asks nothing. */
export function parse(line: string): Test | null {
  const tests = line.trim().toLowerCase().split(/\s+/).filter(Boolean).map(word);
  return tests.length === 0 ? null : (model, node) => tests.every((test) => test(model, node));
}

function word(text: string): Test {
  const amount = /^free(>=|<=|>|<|=)(\d+)$/.exec(text);
  if (amount) {
    const compare = COMPARE[amount[1]!]!;
    const value = Number(amount[2]);
    return (model, node) => compare(model.free(node), value);
  }
  const colon = text.indexOf(':');
  const rest = text.slice(colon + 1);
  switch (colon > 0 ? text.slice(0, colon) : '') {
    case 'node': return (model, node) => model.names[node]!.toLowerCase().includes(rest);
    case 'rack': case 'domain': return (model, node) => inDomain(model, node, rest);
    case 'pg': return groups((key) => key.includes(rest));
    case 'ns': return groups((key) => key.startsWith(`${rest}/`));
    case 'state': return STATES[rest] ?? (() => false);
    default: {
      const group = groups((key) => key.includes(text));
      return (model, node) => model.names[node]!.toLowerCase().includes(text) || inDomain(model, node, text) || group(model, node);
    }
  }
}

function inDomain(model: Model, node: number, text: string): boolean {
  const domain = model.domain[node]!;
  return domain >= 0 && model.domains[domain]!.toLowerCase().includes(text);
}

function groups(matches: (key: string) => boolean): Test {
  // Groups are few and nodes are many: each group's name is looked at once.
  const known = new Map<number, boolean>();
  return (model, node) => {
    for (let at = model.runStart[node]!, end = at + model.runCount[node]!; at < end; at++) {
      const group = model.runGroup[at]!;
      if (group < 0) continue;
      let yes = known.get(group);
      if (yes === undefined) known.set(group, yes = matches(model.groups[group]!.toLowerCase()));
      if (yes) return true;
    }
    return false;
  };
}
