import { Background, isInstalled, type SyncPeer } from "./sync-peer.ts";

/** rsync in a loop without a pause. It syncs in one direction only, and keeps no history. */
export const rsyncLoopPeer: SyncPeer = {
  name: "rsync -a in a loop",
  missing: () => (isInstalled("rsync") ? undefined : "rsync"),
  async start({ from, to, home }) {
    const script = 'while :; do rsync -a "$0/" "$1/"; done';
    return new Background(["sh", "-c", script, from, to], home);
  },
};
