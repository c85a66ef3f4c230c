import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Background, isInstalled, type SyncPeer } from "./sync-peer.ts";

/**
 * lsyncd, which starts rsync for changed files. It syncs in one direction only. `delay`: the time from the first change
 * to the start of rsync, in seconds. lsyncd's default is 15.
 */
export function lsyncdPeer(delay: number): SyncPeer {
  return {
    name: `lsyncd + rsync, delay ${delay} s`,
    missing: () => ["lsyncd", "rsync"].find((program) => !isInstalled(program)),
    async start({ from, to, home }) {
      const config = join(home, "lsyncd.lua");
      writeFileSync(
        config,
        `settings { nodaemon = true }
sync { default.rsync, source = ${JSON.stringify(`${from}/`)}, target = ${JSON.stringify(`${to}/`)}, delay = ${delay}, rsync = { archive = true } }
`,
      );
      return new Background(["lsyncd", config], home);
    },
  };
}
