// Builds the page into the package that serves it: `npm ci && npm run build` in this folder.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const to = new URL("../src/dither/server/page/assets/", import.meta.url).pathname;
mkdirSync(to, { recursive: true });
await build({
  entryPoints: { page: "src/main.js" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  outdir: to,
});
for (const name of ["index.html", "icon.svg"]) copyFileSync(`src/${name}`, to + name);

// What was built from what: a test holds the files in the package to these sources.
const hash = (content) => createHash("sha256").update(content).digest("hex");
const sources = [...readdirSync("src").map((name) => ["src", name]), ...["build.mjs", "package.json", "package-lock.json"].map((name) => [".", name])];
sources.sort((one, other) => (one[1] < other[1] ? -1 : 1));
const lines = sources.map(([folder, name]) => `${name}\n${hash(readFileSync(`${folder}/${name}`))}\n`);
writeFileSync(`${to}built.json`, `${JSON.stringify({ sources: hash(lines.join("")) })}\n`);
