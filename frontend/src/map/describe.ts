// Words for what is under the pointer or the cursor: one sentence, and the detail of what was selected.
import { HELD, NO_GROUP, UNLABELLED, type Model } from './model';
import type { Key, Messages } from './messages';
import { CORDONED, NOT_READY, TAINTED } from './protocol';

export interface Candidate { domain: string; fits: number }
export interface Candidates { need: number; domains: Candidate[] }

const NAMED = 3;

export class Words {
  constructor(private readonly messages: Messages) {}

  domainName(model: Model, domain: number): string {
    return domain === UNLABELLED ? this.messages.say('unlabelled', { key: model.key }) : model.domains[domain]!;
  }

  domain(model: Model, domain: number, nodes: number[], candidates: Candidates | null): string {
    let free = 0, gpus = 0, held = 0;
    const odd: string[] = [];
    for (const node of nodes) {
      free += model.free(node);
      gpus += model.gpus[node]!;
      held += model.held(node) ?? 0;
      const states = this.states(model, node).filter((key) => key !== 'tainted');
      if (states.length) odd.push(this.messages.say('nodeIs', { node: model.names[node]!, state: states.map((key) => this.messages.say(key)).join(', ') }));
    }
    const parts = [this.messages.say('domain', { domain: this.domainName(model, domain), nodes: nodes.length, free, gpus })];
    if (held) parts.push(this.messages.say('held', { held }));
    const rank = domain < 0 || !candidates ? -1 : candidates.domains.findIndex((candidate) => candidate.domain === model.domains[domain]);
    if (candidates && rank >= 0) {
      parts.push(this.messages.say('fits', { fits: candidates.domains[rank]!.fits, need: candidates.need }), this.messages.say('rank', { rank: rank + 1 }));
    }
    parts.push(...odd.slice(0, NAMED));
    if (odd.length > NAMED) parts.push(this.messages.say('more', { count: odd.length - NAMED }));
    return parts.join(' · ');
  }

  node(model: Model, node: number): string {
    const groups = this.holders(model, node).map(([name, gpus]) => `${name} (${this.messages.count(gpus)})`);
    return [
      this.messages.say('node', {
        node: model.names[node]!, domain: this.domainName(model, model.domain[node]!), free: model.free(node), gpus: model.gpus[node]!,
      }),
      ...(model.held(node) === null ? [] : [this.messages.say('held', { held: model.held(node)! })]),
      ...this.states(model, node).map((key) => this.messages.say(key)),
      ...(groups.length ? [this.messages.say('holders', { groups: groups.join(', ') })] : []),
    ].join(' · ');
  }

  states(model: Model, node: number): Key[] {
    const state = model.state[node]!;
    const keys: Key[] = [];
    if (state & CORDONED) keys.push('cordoned');
    if (state & NOT_READY) keys.push('notReady');
    if (state & TAINTED) keys.push('tainted');
    return keys;
  }

  /** [group key or words for none, GPUs, is a PodGroup] of what is on a node. */
  holders(model: Model, node: number): [string, number, boolean][] {
    const found: [string, number, boolean][] = [];
    for (let at = model.runStart[node]!, end = at + model.runCount[node]!; at < end; at++) {
      const group = model.runGroup[at]!;
      if (group === HELD) continue;
      found.push([group === NO_GROUP ? this.messages.say('noGroup') : model.groups[group]!, model.runGpus[at]!, group !== NO_GROUP]);
    }
    return found;
  }
}
