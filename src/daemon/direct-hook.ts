import type { StoreOptions } from "../api/store-api.ts";
import type { Disk } from "../disk/disk.ts";
import { answerHook, type HookAnswer } from "../hooks/answer-hook.ts";
import type { HookAdapter, HookCall } from "../hooks/hook-call.ts";
import { guardedOf } from "../hooks/refuse-persons-commands.ts";
import { OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import { FileNotes } from "./file-notes.ts";
import type { HookIo } from "./hook-io.ts";
import type { RunFolder } from "./run-folder.ts";

export interface DirectHook {
  readonly adapter: HookAdapter;
  readonly input: string;
  readonly strict: boolean;
  readonly owner: number | null;
  readonly disk: Disk;
  readonly run: RunFolder;
  readonly store: StoreOptions;
}

/** Answers a hook in this process, directly on the store: slower, but always possible. */
export async function answerDirectly(io: HookIo, hook: DirectHook): Promise<HookAnswer> {
  let close = (): Promise<void> => Promise.resolve();
  const { adapter, input, strict, owner, disk, run } = hook;
  let workspaces: OpenWorkspaces | undefined;
  let isTool = false;
  const open = async (folder: string, create: boolean) => {
    if (workspaces === undefined) {
      const store = await io.openStore(hook.store, isTool);
      const opened = new OpenWorkspaces(store, { isThere: () => true, now: () => io.now() });
      workspaces = opened;
      close = async () => {
        await opened.close();
        await store.close();
      };
    }
    return workspaces.open(folder, create);
  };
  const onCall = ({ kind }: HookCall): void => {
    isTool = kind === "before" || kind === "after";
  };
  try {
    const notes = new FileNotes(disk, run.folder);
    return await answerHook({ adapter, input, strict, owner, open, notes, onCall, guarded: guardedOf(hook.store) });
  } finally {
    await close();
  }
}
