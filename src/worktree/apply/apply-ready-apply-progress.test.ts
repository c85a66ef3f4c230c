import { expect, it } from "vitest";
import { ApplyProgress } from "./apply-ready.ts";

it("reports progress in steps, never less than before, and the whole at the end", () => {
  const told: string[] = [];
  const progress = new ApplyProgress((done, total) => told.push(`${done}/${total}`), 1_000);
  for (let i = 0; i < 130; i += 1) progress.staged(1);
  progress.staged(300);
  for (const done of [100, 400, 600]) progress.placed(done);
  progress.finished();
  expect(told).toEqual(["64/1000", "128/1000", "430/1000", "600/1000", "1000/1000"]);
});
