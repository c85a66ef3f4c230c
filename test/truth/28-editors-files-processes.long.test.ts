import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";

/** The filter of editors' own files with real folders, processes and connections. */

describe("Truth 28: with real processes and folders", () => {
  it.each(WAYS)(
    "a person's files with such names are synced, an editor's stay, and the status names them (%s)",
    async (way) => {
      await using both = new FollowedOrigin(way);
      const { origin, replica: desk } = both;
      writeFileSync(join(origin.project, "a.txt"), "a\n");
      await both.start();
      for (const [folder, name] of [
        [origin.project, "there"],
        [desk.folder, "here"],
      ] as const) {
        mkdirSync(join(folder, `${name}~`));
        writeFileSync(join(folder, `${name}~`, "f"), "in a folder\n");
        writeFileSync(join(folder, `#${name}#`), "no file beside it\n");
        writeFileSync(join(folder, `${name}.swp`), "not hidden\n");
        writeFileSync(join(folder, "a.txt~"), `of ${name}\n`);
      }
      symlinkSync("me@host.1:2", join(desk.folder, ".#a.txt"));
      await both.flush();
      for (const folder of [origin.project, desk.folder]) {
        for (const name of ["there", "here"]) {
          expect(readFileSync(join(folder, `${name}~`, "f"), "utf8")).toBe("in a folder\n");
          expect(existsSync(join(folder, `#${name}#`))).toBe(true);
          expect(existsSync(join(folder, `${name}.swp`))).toBe(true);
        }
      }
      expect(readFileSync(join(origin.project, "a.txt~"), "utf8")).toBe("of there\n");
      expect(readFileSync(join(desk.folder, "a.txt~"), "utf8")).toBe("of here\n");
      expect(existsSync(join(origin.project, ".#a.txt"))).toBe(false);
      const left = [
        { path: ".#a.txt", side: "local" },
        { path: "a.txt~", side: "both" },
      ];
      expect(await both.status()).toMatchObject({ kept_back: 2, left_out: 2, left_out_paths: left, conflicts: 0 });
      await desk.kill("SIGINT");
      await both.startReplica();
      await both.flush();
      expect(await both.status()).toMatchObject({ kept_back: 2, left_out: 2, left_out_paths: left, conflicts: 0 });
      expect(readFileSync(join(origin.project, "a.txt~"), "utf8")).toBe("of there\n");
    },
    180_000,
  );
});
