import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("life of a verify", async () => {
  await using project = new Project();
  for (let i = 0; i < 20; i += 1) project.write(`dir/${i}.txt`, `content of file ${i}\n`.repeat(50));
  const workspace = await project.init();
  project.write("dir/3.txt", "changed\n");
  await workspace.snapshot();
  await workspace.restore("0");
  const head = await workspace.head();
  const phases = new Set<string>();
  const sound = await workspace.verify({ expect: head.note, onProgress: ({ phase }) => phases.add(phase) });
  expect(sound).toMatchObject({ ok: true, problems: [], events: head.seq });
  expect(sound.blobs).toBeGreaterThan(20);
  expect(phases).toContain("verify");
  const stop = new AbortController();
  const reason = new Error("seen enough");
  const stopped = workspace.verify({ signal: stop.signal, onProgress: () => stop.abort(reason) });
  await expect(stopped).rejects.toBe(reason);
  await workspace.close();

  // Changes one byte in each authoritative file of this history. Each change is found. The file is put back after
  // that.
  const { folder, packs } = {
    folder: join(project.home, "workspaces", workspace.id),
    packs: join(project.home, "blobs/packs"),
  };
  const pack = readdirSync(packs, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith(".pack"));
  const files = [join(folder, "events.wal"), join(folder, "workspace.json"), join(packs, pack ?? "")];
  for (const file of [...files, join(project.configFolder, "heads", workspace.id)]) {
    const bytes = readFileSync(file);
    const flipped = Buffer.from(bytes);
    const at = bytes.length >> 1;
    flipped[at] = (flipped[at] ?? 0) ^ 0x01;
    writeFileSync(file, flipped);
    const hurt = await project.open().catch((error: unknown) => error);
    if (hurt instanceof Error) expect(hurt).toMatchObject({ code: expect.stringMatching(/DAMAGED|INTEGRITY|FORMAT/) });
    else {
      const other = hurt as typeof workspace;
      const { ok, problems } = await other.verify();
      expect([file, ok]).toEqual([file, false]);
      for (const problem of problems)
        expect(problem).toEqual({ kind: expect.any(String), where: expect.any(String), detail: expect.any(String) });
      await other.close();
    }
    writeFileSync(file, bytes);
  }
  const again = await project.open({ readOnly: true });
  expect(await again.verify({ expect: head.note })).toMatchObject({ ok: true, problems: [] });

  // The head of this history is not accepted for an empty history elsewhere.
  const stranger = new Project();
  await using _disposed = stranger;
  mkdirSync(stranger.at("empty"));
  const other = await stranger.init();
  expect(await other.verify({ expect: head.note })).toMatchObject({
    ok: false,
    problems: [{ kind: "wrong-workspace" }],
  });
});
