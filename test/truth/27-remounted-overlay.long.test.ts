import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";

/** A folder on an overlay file system, if this process may mount one. Each mount gives it another device number. */
class Overlay implements Disposable {
  readonly #folder: string;
  readonly #options: string;
  readonly #between: string[] = [];

  constructor(base: string, folder: string) {
    const parts = ["lower", "upper", "work"].map((name) => join(base, name));
    for (const part of [...parts, folder]) mkdirSync(part, { recursive: true });
    const [lower, upper, work] = parts;
    this.#folder = folder;
    this.#options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
  }

  mount(): boolean {
    return spawnSync("mount", ["-t", "overlay", "-o", this.#options, "overlay", this.#folder]).status === 0;
  }

  /** Mounts the overlay again, after other file systems have taken its device number. Returns whether that worked. */
  remount(base: string): boolean {
    execFileSync("umount", [this.#folder]);
    for (const name of ["one", "two"]) {
      const other = join(base, name);
      mkdirSync(other);
      execFileSync("mount", ["-t", "tmpfs", "tmpfs", other]);
      this.#between.push(other);
    }
    return this.mount();
  }

  [Symbol.dispose](): void {
    for (const folder of [...this.#between, this.#folder]) spawnSync("umount", ["-l", folder]);
  }
}

function canMount(): boolean {
  const base = mkdtempSync(join(tmpdir(), "chronicle-overlay-"));
  try {
    using overlay = new Overlay(base, join(base, "folder"));
    return overlay.mount();
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/** Mounts an empty file system over the folder, in place of the one that is there, however busy that is. */
function mountEmpty(folder: string): void {
  spawnSync("umount", ["-l", folder]);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=9m,mode=755", "tmpfs", folder]);
}

describe.runIf(process.platform === "linux" && canMount())(
  "Truth 27: with real processes, another disk in the folder's place",
  () => {
    it.each(["restore", "deletions"] as const)(
      "halts the running sync, which continues in the documented way (%s)",
      async (accept) => {
        await using both = new FollowedOrigin("--connect");
        const { origin, replica: desk } = both;
        mkdirSync(desk.folder, { recursive: true });
        using unmounting = new DisposableStack();
        unmounting.defer(() => spawnSync("umount", ["-l", desk.folder]));
        mountEmpty(desk.folder);
        for (let i = 0; i < 10; i += 1) writeFileSync(join(origin.project, `f${i}`), `content ${i}\n`);
        await both.start();
        // A path that a scan has seen is known with its device.
        mkdirSync(join(desk.folder, "d"));
        writeFileSync(join(desk.folder, "d", "mine"), "mine\n");
        await both.flush();
        mountEmpty(desk.folder);
        const halted = await both.until(({ state }) => state === "halted");
        expect(halted).toMatchObject({ halted: "root-replaced", reason: "another folder is in the folder's place" });
        writeFileSync(join(desk.folder, "new"), "new\n");
        expect(readdirSync(origin.project)).toHaveLength(11);
        await both.resume(accept);
        expect(await both.flush()).toMatchObject({ state: "in-sync", conflicts: 0 });
        const names = accept === "restore" ? ["d", ...Array.from({ length: 10 }, (_, i) => `f${i}`), "new"] : ["new"];
        expect(readdirSync(desk.folder).toSorted()).toEqual(names);
        expect(readdirSync(origin.project).toSorted()).toEqual(names);
        await desk.kill("SIGINT");
      },
      180_000,
    );
  },
);

describe.runIf(process.platform === "linux" && canMount())("Truth 27: with real processes, on an overlay", () => {
  it.each(WAYS)(
    "a folder that is mounted again counts as the same, and is listed as present (%s)",
    async (way) => {
      await using both = new FollowedOrigin(way);
      const { origin, replica: desk } = both;
      using overlay = new Overlay(desk.base, desk.folder);
      overlay.mount();
      for (let i = 0; i < 10; i += 1) writeFileSync(join(origin.project, `f${i}`), `content ${i}\n`);
      await both.start();
      const before = statSync(desk.folder, { bigint: true });
      await desk.kill("SIGINT");
      expect(overlay.remount(desk.base)).toBe(true);
      const after = statSync(desk.folder, { bigint: true });
      expect([after.ino, after.dev === before.dev]).toEqual([before.ino, false]);
      writeFileSync(join(desk.folder, "f1"), "edited\n");
      await both.startReplica();
      expect(await both.flush()).toMatchObject({ state: "in-sync" });
      expect(readFileSync(join(origin.project, "f1"), "utf8")).toBe("edited\n");
      const listed = execFileSync(process.execPath, [chronicleBin(), "workspaces", "--json"], { env: desk.env });
      expect(JSON.parse(listed.toString())).toMatchObject([{ present: true }]);
      await desk.kill("SIGINT");
    },
    180_000,
  );
});
