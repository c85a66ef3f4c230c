import { useQuery } from "@tanstack/react-query";
import { Ban } from "lucide-react";
import type { RefusalShape } from "../../../src/api/action-shapes.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { Problem } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { digits, visible } from "../parts/words.ts";

const MOST = 100;

/** Shows the forbidden operations that agents have tried, and the tool calls that were denied. */
export function Refused({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "refusals"],
    queryFn: () => on.refusals(),
    retry: false,
  });
  return (
    <section className="panel" aria-label="Refused attempts">
      <h2>Refused attempts</h2>
      {error === null ? null : <Problem error={error} />}
      {data?.length === 0 ? (
        <p className="quiet">No agent has tried what only a person may do, and no tool call was denied.</p>
      ) : null}
      <ul className="facts-list">
        {data
          ?.toReversed()
          .slice(0, MOST)
          .map((one) => (
            <Refusal key={one.id} refusal={one} />
          ))}
      </ul>
      {data !== undefined && data.length > MOST ? (
        <p className="quiet">and {digits(data.length - MOST)} earlier ones</p>
      ) : null}
    </section>
  );
}

function Refusal({ refusal: { actor, at, kind, what, detail } }: { readonly refusal: RefusalShape }) {
  const isCall = kind === "tool_call";
  return (
    <li>
      <span>
        <Ban size={14} aria-hidden="true" /> <strong>{visible(actor)}</strong> {isCall ? "was denied" : "tried"}{" "}
        <code>{visible(what)}</code>
        {isCall ? "" : ", which only a person may do"} <Ago at={at} />
      </span>
      {detail === "" || detail === "[]" ? null : <span className="quiet refused-detail">{visible(detail)}</span>}
    </li>
  );
}
