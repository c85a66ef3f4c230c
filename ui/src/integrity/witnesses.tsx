import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useWorkspaceApi } from "../data/api.ts";
import { useSyncs } from "../data/queries.ts";
import { Problem } from "../parts/states.tsx";
import { counted, digits, visible } from "../parts/words.ts";

const MOST = 50;

/** Shows who else holds this history, and would therefore notice if the history were cut or replaced. */
export function Witnesses({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const { data: replicas = [], error } = useQuery({
    queryKey: ["workspace", workspace, "replicas"],
    queryFn: () => on.replicas(),
    retry: false,
  });
  const { data: syncs = [] } = useSyncs();
  const own = syncs.filter(({ id }) => id === workspace);
  return (
    <section className="panel" aria-label="Witnesses">
      <h2>Witnesses</h2>
      {error === null ? null : <Problem error={error} />}
      <p className="quiet">A copy of the log that somebody else holds reports a history that was cut or replaced.</p>
      <ul className="facts-list">
        {replicas
          .toReversed()
          .slice(0, MOST)
          .map(({ id, seq, lag }) => (
            <li key={id}>
              <span>
                The replica <code>{visible(id)}</code> holds it up to event {digits(seq)}
                {lag === 0 ? ", the last one" : ` (${counted(lag, "event")} behind)`}
              </span>
            </li>
          ))}
        {own.map(({ id, upstream, head }) => (
          <li key={id}>
            <span>
              This folder holds the log of its origin, {visible(upstream)}, up to event {digits(head)}.{" "}
              <Link to="/w/$workspace/sync" params={{ workspace }} className="text-link">
                The sync
              </Link>
            </span>
          </li>
        ))}
        {replicas.length + own.length === 0 ? (
          <li>
            <span>Nobody else holds it. A signed head that you keep elsewhere does the same, up to its event.</span>
          </li>
        ) : null}
      </ul>
    </section>
  );
}
