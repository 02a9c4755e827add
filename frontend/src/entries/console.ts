// Every page: status pill, refresh of its parts when the log grows, theme, keys.
//
// Markup it uses, all optional:
//   <body data-ws-url data-seq data-g-map data-g-pending data-g-history data-g-settings data-prev data-next
//         data-prev-same data-next-same>
//   <span class="pill" id="live-pill" role="status" data-live data-catching data-stale="… {time}" data-paused>
//     <span class="dot"></span><span data-text></span> <span class="mono" data-seq></span></span>
//   #search, #theme-toggle, #help-toggle, dialog#help, #shortcuts-toggle
// Parts refresh by hx-trigger="tas:advanced from:body". On the map page the map has the only socket (entries/map.ts).
import { Advance, tellBody } from '../lib/advance';
import { bindHeat } from '../lib/heat';
import { Pill } from '../lib/pill';
import { share } from '../lib/shared';
import { bindShortcuts, typing } from '../lib/shortcuts';
import { LiveSocket, browserClock, socketUrl } from '../lib/socket';
import type { Message } from '../map/protocol';

function listen(path: string): void {
  const pill = new Pill();
  const advance = new Advance(browserClock, tellBody);
  // What the page was drawn from: the first hello tells what has happened since.
  let seq = Number(document.body.dataset['seq'] ?? -1);
  let epoch = -1;
  const socket = new LiveSocket(() => socketUrl(path), {
    message(body) {
      const message = body as Message;
      const news = message.t === 'hello' ? seq >= 0 && ((epoch >= 0 && message.epoch !== epoch) || message.seq !== seq) : message.t !== 'delta' && message.seq > seq;
      if (message.t === 'hello') epoch = message.epoch;
      if (message.t !== 'delta') seq = message.t === 'hello' ? message.seq : Math.max(seq, message.seq);
      if (news) advance.to(seq);
      pill.show('live', seq, socket.heard);
    },
    closed(refused) { pill.show(refused || socket.quiet ? 'stale' : 'catching', seq, socket.heard); },
    silent() { pill.show('stale', seq, socket.heard); },
  });
  pill.show('catching', 0, 0);
  socket.connect();
  socket.watchPage();
}

share({ Advance, LiveSocket, Pill, browserClock, socketUrl, tellBody, typing });
bindShortcuts();
bindHeat();
// "The zone of this browser" in the user's settings: the server prints times, so it has to be told.
document.cookie = `tas_browser_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/; max-age=31536000; samesite=lax`;
const path = document.body.dataset['wsUrl'];
if (path && !document.getElementById('rack-map')) listen(path);
