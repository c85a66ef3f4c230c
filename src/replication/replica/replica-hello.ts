import type { Head } from "../../core/values/event.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { Capability } from "../protocol/capabilities.ts";
import { optional } from "../../util/optional.ts";

interface Introduction {
  readonly sandboxId: string;
  readonly workspace?: string;
  readonly asked?: string;
  readonly token?: string;
  readonly upstream: { readonly head: Head };
  readonly mirror?: unknown;
  readonly journal?: { readonly settledTo: number };
  /** True to request the contents of protected files, too. An origin sends these contents only for a person's token. */
  readonly withProtected?: boolean | undefined;
}

/**
 * Returns the capabilities that a replica announces. `tree` and `erasures` need a mirror, because only a mirror can
 * start anew after a later event.
 */
export function capabilitiesOf({
  mirror,
  withProtected,
}: Pick<Introduction, "mirror" | "withProtected">): Capability[] {
  const named: Capability[] = ["rename", "witness", "folder", "blocks", "read-only", "ahead", "times"];
  if (mirror !== undefined) named.push("tree", "erasures");
  if (withProtected === true) named.push("protected");
  return named;
}

/**
 * Returns a replica's first message. It names the workspace by the text that the user gave, not by the id that was
 * found for that text. Therefore, the replica notices if the text now names a different workspace.
 */
export function replicaHello(introduction: Introduction): MessageOf<"Hello"> {
  const { sandboxId, workspace: known, asked = known, token, upstream, mirror, journal, withProtected } = introduction;
  const { seq: sequence, hash } = upstream.head;
  return {
    type: "Hello",
    versions: [PROTOCOL_VERSION],
    capabilities: capabilitiesOf({ mirror, withProtected }),
    ...optional({ workspace: asked }),
    sandbox_id: sandboxId,
    ...optional({ token }),
    head: { sequence, hash },
    settled_local_seq: journal?.settledTo ?? 0,
  };
}
