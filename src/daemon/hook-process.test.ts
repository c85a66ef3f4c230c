import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const MODULE = fileURLToPath(new URL("hook-process.ts", import.meta.url));
const LENGTH = 3_000_000;

it("an answer is written whole into a pipe that does not block and is read late", async () => {
  const script = `
    import { HookProcess } from ${JSON.stringify(MODULE)};
    // Node's stream makes the descriptor non-blocking.
    process.stdout;
    const io = new HookProcess("0");
    io.out.write("0123456789".repeat(${LENGTH / 10}));
  `;
  const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", script]);
  const said: Buffer[] = [];
  child.stderr.on("data", (piece: Buffer) => said.push(piece));
  // The reader waits until the pipe is full.
  const ended = new Promise<number | null>((resolve) => void child.once("close", resolve));
  await new Promise((resolve) => void setTimeout(resolve, 1_500));
  const hash = createHash("sha256");
  let length = 0;
  child.stdout.on("data", (piece: Buffer) => {
    hash.update(piece);
    length += piece.length;
  });
  expect([await ended, Buffer.concat(said).toString()]).toEqual([0, ""]);
  expect(length).toBe(LENGTH);
  expect(hash.digest("hex")).toBe(
    createHash("sha256")
      .update("0123456789".repeat(LENGTH / 10))
      .digest("hex"),
  );
});
