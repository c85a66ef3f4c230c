import { expect, it } from "vitest";
import type { ConversationForm } from "../hooks/hook-call.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { put } from "../../test/helpers/engine-sweep.ts";
import { promptReader } from "./prompt-reader.ts";

/** The form of a conversation that has only a message, and counts how often it is read. */
function countingForm(): ConversationForm & { readonly read: string[] } {
  const read: string[] = [];
  return {
    read,
    pathFor: () => undefined,
    lastPrompt: (text) => {
      read.push(text);
      return text === "half" ? undefined : { text };
    },
  };
}

it("a conversation is read again only once it has changed, or if it was half written", () => {
  const disk = SimDisk.fromTree({ "/h/c.json": "one" });
  const [form, lastPrompt] = [countingForm(), promptReader(disk)];
  expect([1, 2].map(() => lastPrompt("/h/c.json", form)?.text)).toEqual(["one", "one"]);
  put(disk, "/h/c.json", "two");
  expect([1, 2].map(() => lastPrompt("/h/c.json", form)?.text)).toEqual(["two", "two"]);
  put(disk, "/h/c.json", "half");
  expect([1, 2].map(() => lastPrompt("/h/c.json", form))).toEqual([undefined, undefined]);
  expect(form.read).toEqual(["one", "two", "half", "half"]);
});

it("a link, a folder, a missing and a too long file are not read", () => {
  const disk = SimDisk.fromTree({ "/h/c.json": "one", "/h/long.json": "", "/h/folder": { folder: 0o755 } });
  disk.symlink(Buffer.from("/h/c.json"), "/h/link.json");
  const fd = disk.open("/h/long.json", "update");
  disk.truncate(fd, 64 * 1024 * 1024 + 1);
  disk.close(fd);
  const form = countingForm();
  for (const name of ["link.json", "folder", "none.json", "long.json"])
    expect(promptReader(disk)(`/h/${name}`, form), name).toBeUndefined();
  expect(form.read).toEqual([]);
});
