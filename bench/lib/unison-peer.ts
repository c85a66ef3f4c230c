import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Background, isInstalled, type SyncPeer } from "./sync-peer.ts";

const HELPER = join(import.meta.dirname, "unison-fsmonitor-main.ts");

/** unison with its watcher. If unison's package has no watcher (`unison-fsmonitor`), the bench's own helper is used. */
export const unisonPeer: SyncPeer = {
  name: "unison -repeat watch",
  missing: () => (isInstalled("unison") ? undefined : "unison"),
  async start({ from, to, home }) {
    const env = { UNISON: join(home, "archives"), PATH: process.env["PATH"] ?? "" };
    mkdirSync(env.UNISON);
    if (!isInstalled("unison-fsmonitor")) env.PATH = `${helperFolder(home)}:${env.PATH}`;
    return new Background(["unison", from, to, "-batch", "-auto", "-silent", "-repeat", "watch"], home, { env });
  },
};

/** Makes a folder with a program `unison-fsmonitor` that runs the helper. Returns its path. */
function helperFolder(home: string): string {
  const folder = join(home, "helper");
  mkdirSync(folder);
  const file = join(folder, "unison-fsmonitor");
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${HELPER}"\n`);
  chmodSync(file, 0o755);
  return folder;
}
