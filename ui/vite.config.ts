import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";

/** Writes the licenses of all packages in the page into one file beside it, as the build of the program does. */
function notices(): Plugin {
  return {
    name: "notices",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
      const folders = modules.map((id) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(id)?.[0]);
      const packages = [...new Set(folders)].filter((folder) => folder !== undefined).toSorted();
      const source = packages.map(noticeOf).join(`\n${"-".repeat(80)}\n\n`);
      this.emitFile({ type: "asset", fileName: "third-party.txt", source });
    },
  };
}

function noticeOf(folder: string): string {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8");
  return `${String(about["name"])} ${String(about["version"])} (${String(about["license"])})\n\n${text.trim()}\n`;
}

/** The build of the page: `ui/` becomes `dist/ui/`, with names that change with the contents. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  publicDir: false,
  plugins: [notices()],
  build: {
    outDir: "../dist/ui",
    emptyOutDir: true,
    target: "es2024",
    modulePreload: { polyfill: false },
    // A file within a page's address would need a weaker policy for its contents.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // Packages mark files for React servers. The page has no such server.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
    chunkSizeWarningLimit: 700,
  },
  // The page is tried beside a server that is started by hand: `chronicle serve --port 7420`.
  server: { port: 7421, proxy: { "/v1": "http://127.0.0.1:7420", "/page": "http://127.0.0.1:7420" } },
});
