import type { Head } from "../../core/event.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { KNOWN } from "./origin-word.ts";

/** What a replica says of itself. */
interface Introduction {
  readonly sandboxId: string;
  readonly workspace?: string;
  readonly asked?: string;
  readonly token?: string;
  readonly upstream: { readonly head: Head };
  /** One that can start anew reconciles by trees. */
  readonly mirror?: unknown;
  readonly journal?: { readonly settledTo: number };
  /** Secrets by name are wanted, which an origin gives to people. */
  readonly withProtected?: boolean | undefined;
}

/**
 * A replica's first message. The workspace is named as it was asked for, not as it was found to be: that it is another one
 * than before is then seen, and not passed over.
 */
export function replicaHello(introduction: Introduction): MessageOf<"Hello"> {
  const { sandboxId, workspace: known, asked = known, token, upstream, mirror, journal, withProtected } = introduction;
  const { seq: sequence, hash } = upstream.head;
  return {
    type: "Hello",
    versions: [PROTOCOL_VERSION],
    capabilities: [
      ...KNOWN,
      ...(mirror === undefined ? [] : ["tree"]),
      ...(withProtected === true ? ["protected"] : []),
    ],
    ...(asked === undefined ? {} : { workspace: asked }),
    sandbox_id: sandboxId,
    ...(token === undefined ? {} : { token }),
    head: { sequence, hash },
    settled_local_seq: journal?.settledTo ?? 0,
  };
}
