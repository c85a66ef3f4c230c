import type {
  SettledWriteBack,
  WriteBackAnswer,
  WriteBackBatch,
  WriteBackEntry,
  WriteBackReason,
  WriteBackRules,
} from "../core/records/write-back.ts";
import type { WorkspaceContents } from "../replication/contents/content-server.ts";
import type { SecretContents } from "../replication/contents/session-contents.ts";
import { ReceivedContents } from "../replication/origin/received-contents.ts";
import type { WriteBackTarget } from "../replication/origin/write-back-target.ts";
import type { WriteBackParts } from "../replication/origin/write-back-intake.ts";
import type { Context } from "../engine/log/context.ts";
import { refuseOverQuota } from "../engine/log/quota.ts";
import { acceptWriteBack } from "../engine/replica/accept-write-back.ts";
import { settledWriteBack } from "../engine/replica/settled-write-back.ts";
import { refusalOf } from "../engine/replica/write-back-rules.ts";
import { openQueue } from "../engine/undo/open-queue.ts";
import type { OperationQueue } from "../engine/capture/operation-queue.ts";

/** The engine that decides replicas' writes, open while there are replicas. */
export interface OpenWriteBack extends AsyncDisposable {
  readonly parts: WriteBackParts;
}

/**
 * Lets an engine, which nothing else in this process uses, decide what replicas write. Disposal waits for the engine's
 * work.
 */
export function openWriteBack(
  context: Context,
  contents: WorkspaceContents & Partial<SecretContents>,
  rules: WriteBackRules = {},
): OpenWriteBack {
  const queue = openQueue(context, async () => undefined);
  const received = new ReceivedContents(context.blobs, contents);
  return {
    parts: { target: new EngineWriteBack(context, queue, rules), blobs: context.blobs, received },
    [Symbol.asyncDispose]: () => queue.close(),
  };
}

class EngineWriteBack implements WriteBackTarget {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  readonly #rules: WriteBackRules;

  constructor(context: Context, queue: OperationQueue, rules: WriteBackRules) {
    this.#context = context;
    this.#queue = queue;
    this.#rules = rules;
  }

  settled(replica: string): Promise<SettledWriteBack> {
    return this.#queue.read(() => settledWriteBack(this.#context, replica));
  }

  reserve(bytes: number): void {
    if (bytes > 0) refuseOverQuota(this.#context, bytes);
  }

  refusal(entry: WriteBackEntry): WriteBackReason | undefined {
    return refusalOf(entry, this.#context.worktree.roots, this.#rules);
  }

  decide(batch: WriteBackBatch): Promise<WriteBackAnswer> {
    return this.#queue.change(() => acceptWriteBack(this.#context, batch, this.#rules));
  }
}
