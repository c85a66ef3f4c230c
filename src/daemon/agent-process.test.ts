import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../disk/node-disk.ts";
import { agentProcess } from "./agent-process.ts";

/** Starts a process that waits until its stdin ends. */
async function waiting(command: string, args: readonly string[] = []): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout ?? child, "data");
  return child;
}

describe.runIf(existsSync("/proc/self/stat"))("the agent's process, found from the process that started a hook", () => {
  it("is not a script around the hook, whatever its name, because the script ends with the call", async () => {
    const folder = mkdtempSync(join(tmpdir(), "chronicle-wrapper-"));
    const wrapper = join(folder, "my-wrapper");
    writeFileSync(wrapper, "#!/bin/sh\necho ready\nread line\n");
    chmodSync(wrapper, 0o755);
    const child = await waiting(wrapper);
    try {
      expect(agentProcess(new NodeDisk(), child.pid)).toBe(process.pid);
    } finally {
      child.stdin?.end();
      await once(child, "exit");
      rmSync(folder, { recursive: true });
    }
  });

  it("is a program of its own", async () => {
    const child = await waiting(process.execPath, ["-e", "console.log('ready'); process.stdin.resume()"]);
    try {
      expect(agentProcess(new NodeDisk(), child.pid)).toBe(child.pid);
    } finally {
      child.stdin?.end();
      await once(child, "exit");
    }
  });
});
