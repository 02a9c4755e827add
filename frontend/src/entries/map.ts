// The map page. One socket only: this one, which also drives the status pill and `tas:advanced` (entries/console.ts).
//
// console.js has to be loaded before it (lib/shared.ts). Markup (ids are fixed; all but #rack-map may be missing):
//   <main id="main" class="map">
//     <div class="bar"> <select id="map-key">, <select id="map-color"> (occupancy, podgroup),
//       <button id="map-free" aria-pressed="false">, <button id="map-anomalies" aria-pressed="false">
//     <div class="kpi" id="map-kpi"> … <strong data-kpi="nodes|gpus_used|gpus|pending|unlabelled|largest|domains_64">
//     <div class="legend" id="map-legend"> … <span id="map-groups" hidden></span>
//     <div id="rack-map" tabindex="0" role="grid" aria-label aria-describedby="map-help" data-cluster data-key
//          data-snapshot-url data-deltas-url data-ws-url data-explanation-url (__ns__ __name__) data-node-url (__node__)
//          data-group-url (__ns__ __name__) data-domain-url (__domain__ __key__)></div>        left empty
//     <p id="map-sentence" class="mono"></p> <div id="map-announce" class="vh" aria-live="polite"></div> <p id="map-help" class="vh">
//   <aside><section id="map-detail"></section> … <a data-pick="ns/name" href="?pg=ns/name">
//   <input id="search"> filters in place; <script type="application/json" id="map-messages"> (map/messages.ts)
import { MapApp } from '../map/app';

const host = document.getElementById('rack-map');
if (host) new MapApp(host).start();
