// The page of a scenario's run: two maps side by side, before and after the steps, with one cursor and one view.
//
// Markup (runs/scenario.html; may come later, by a swap):
//   <div id="pair" tabindex="0" role="grid" data-key data-group data-before-url data-after-url>
//     <div class="pair-map" data-side="before"> <div class="pair-map" data-side="after"> <div role="gridcell" id="pair-cell">
//   #pair-key (select), #pair-only (button), [data-zoom=in|out|fit], #pair-sentence, #pair-said, #map-messages
import { Pair } from '../past/pair';
import { bindCopy } from '../lib/copy';

function begin(): void {
  const host = document.getElementById('pair');
  if (host && !host.dataset['begun']) new Pair(host).start();
}

bindCopy();
begin();
document.addEventListener('htmx:afterSettle', begin);
