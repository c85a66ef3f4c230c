import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { Background } from "./sync-peer.ts";

/** Starts an rsync daemon that serves a folder on loopback. Resolves when it answers. `home`: for its other files. */
export async function startRsync(folder: string, home: string): Promise<{ daemon: Background; url: string }> {
  const port = await freePort();
  const config = join(home, "rsyncd.conf");
  writeFileSync(
    config,
    `use chroot = no\nuid = ${process.getuid?.() ?? 0}\ngid = ${process.getgid?.() ?? 0}\n[tree]\npath = ${folder}\nread only = yes\n`,
  );
  const argv = ["rsync", "--daemon", "--no-detach", `--config=${config}`, `--port=${port}`, "--address=127.0.0.1"];
  const daemon = new Background(argv, home, { log: "rsyncd.log" });
  const url = `rsync://127.0.0.1:${port}/tree/`;
  for (let tries = 0; spawnSync("rsync", [url]).status !== 0; tries++) {
    if (tries > 50) throw new Error("the rsync daemon does not answer");
    await pause(50);
  }
  return { daemon, url };
}
