// Builds src/entries/*.ts (scripts), src/modules/*.ts (modules that a script loads when it needs them) and src/*.css into
// dist/, and holds the scripts of the map page to their budget; with --test bundles src/**/*.test.ts and runs them.
import { spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, readdir, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));
const src = join(root, "src");
const target = ["es2022"];

async function files(directory, suffix, { recursive = false } = {}) {
  if (!existsSync(directory)) return [];
  const entries = await readdir(directory, { recursive, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** What the live map loads of ours, and what a page of the past loads on top of it: kilobytes gzipped that are the aim,
 * and those at which the build fails.
 */
const BUDGETS = [[["theme.js", "console.js", "map.js"], 15, 16], [["past.js"], 7, 8]];

async function weigh(directory) {
  for (const [names, aim, most] of BUDGETS) {
    let total = 0;
    for (const name of names) total += gzipSync(await readFile(join(directory, name)), { level: 9 }).length;
    const said = `${names.join(" + ")}: ${total} bytes gzipped, ${aim * 1024} are the aim`;
    if (total > most * 1024) throw new Error(said);
    if (total > aim * 1024) console.warn(said);
  }
}

async function bundle() {
  // Into a new folder that takes the place of the old one at the end: a failed build leaves dist/ as it was.
  const fresh = join(root, "dist.new");
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh);
  const scripts = await files(join(src, "entries"), ".ts");
  const styles = await files(src, ".css");
  const common = { bundle: true, minify: true, sourcemap: true, target, logLevel: "warning" };
  await build({ ...common, entryPoints: scripts, format: "iife", outdir: fresh });
  await build({ ...common, entryPoints: await files(join(src, "modules"), ".ts"), format: "esm", outdir: fresh });
  await build({ ...common, entryPoints: styles, outdir: fresh, external: ["*.woff2", "*.svg", "*.png"] });
  await copyFile(join(root, "node_modules/htmx.org/dist/htmx.min.js"), join(fresh, "htmx.min.js"));
  await weigh(fresh);
  await rm(join(root, "dist"), { recursive: true, force: true });
  await rename(fresh, join(root, "dist"));
}

async function test() {
  const tests = await files(src, ".test.ts", { recursive: true });
  if (tests.length === 0) {
    console.log("no front-end unit tests");
    return 0;
  }
  const out = await mkdtemp(join(tmpdir(), "tas-frontend-"));
  try {
    await build({ entryPoints: tests, outbase: src, outdir: out, bundle: true, format: "esm", platform: "node",
      outExtension: { ".js": ".mjs" }, sourcemap: "inline", target, logLevel: "warning" });
    const built = await files(out, ".test.mjs", { recursive: true });
    return spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=tap", ...built], { stdio: "inherit" }).status ?? 1;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

if (process.argv.includes("--test")) process.exitCode = await test();
else await bundle();
