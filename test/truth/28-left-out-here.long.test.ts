import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createClient } from "../../src/client/create-node-client.ts";
import { FollowedOrigin, WAYS } from "../helpers/followed-origin.ts";

/** Files that a desk's rules leave out stay on the desk as they are, even if the origin has files of the same names. */

const OWN = ["private/notes", "private/deep/n2", "build/i", "own.local", "folder.local/x", "open/a.local"];

describe("Truth 28: a file that a desk's rules leave out", () => {
  it.each(WAYS)(
    "neither leaves the desk nor is replaced when the origin makes files of the same names (%s)",
    async (way) => {
      await using both = new FollowedOrigin(way);
      const { origin, replica: desk } = both;
      writeFileSync(join(origin.project, ".gitignore"), "build/\nprivate/\n*.local\n");
      await both.start();
      for (const folder of ["private/deep", "build", "folder.local", "open"])
        mkdirSync(join(desk.folder, folder), { recursive: true });
      for (const path of OWN) writeFileSync(join(desk.folder, path), `the desk's own ${path}\n`);
      await both.flush();
      const client = createClient({ url: origin.socketUrl });
      const [id = ""] = readdirSync(join(origin.home, "workspaces"));
      const there = client.workspace(id);
      const made = ["private/zzz", "build/zzz", "own.local", "folder.local", "open/a.local", "open/b"];
      for (const path of made) await there.putFile(path, Buffer.from("the origin's\n"));
      const inTheWay = ["folder.local", "open/a.local", "own.local"];
      await both.until(({ conflicts }) => conflicts === inTheWay.length);
      await both.flush();
      for (const path of ["private/zzz", "build/zzz", "open/b"])
        expect(readFileSync(join(desk.folder, path), "utf8")).toBe("the origin's\n");
      for (const path of OWN) expect(readFileSync(join(desk.folder, path), "utf8")).toBe(`the desk's own ${path}\n`);
      // Nothing of the desk's own is in the origin's history, neither as a file nor as a version.
      const { files } = await there.files();
      expect(files.filter(({ kind }) => kind === "file").map(({ path }) => path)).toEqual(
        [".gitignore", ...made].sort(),
      );
      const events = JSON.stringify(await there.log({ limit: 1_000 }));
      for (const path of ["private/notes", "private/deep", "build/i", "folder.local/x"])
        expect(events).not.toContain(path);
      for (const path of inTheWay) expect(await there.history(path)).toHaveLength(1);
      await client.close();
    },
    180_000,
  );
});
