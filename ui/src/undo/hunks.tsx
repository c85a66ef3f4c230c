import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { useState } from "react";
import type { UndoHunkShape, UndoHunksShape } from "../../../src/api/shapes.ts";
import type { UndoOptions, UndoPart } from "../../../src/api/workspace-api.ts";
import type { UndoShape } from "../../../src/api/shapes.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { renewWorkspace } from "../data/live.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { visibleLine } from "../parts/words.ts";
import { Outcome } from "./outcome.tsx";

/** The id of the list of parts in the document. */
export const PARTS_ID = "parts-to-take-back";

interface HunksProps {
  readonly workspace: string;
  readonly path: string;
  /** The earlier path of a renamed file. The earlier path is taken back together with the file. */
  readonly from: string | undefined;
  /** The options of the undo of the whole work. */
  readonly undo: UndoOptions;
}

/** Shows the parts of one file's change, each with a button that takes back only this part. */
export function Hunks({ workspace, path, from, undo }: HunksProps) {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const [done, setDone] = useState<UndoShape>();
  const key = ["workspace", workspace, "hunks", path, undo];
  const { data, error, isPending } = useQuery({
    queryKey: key,
    queryFn: async () =>
      (
        await on.undo({
          ...undo,
          parts: [path, ...(from === undefined ? [] : [from])].map((file) => ({ file })),
          hunks: true,
          dryRun: true,
        })
      ).hunks ?? [],
    retry: false,
  });
  const act = useMutation({
    mutationFn: (parts: readonly UndoPart[]) => on.undo({ ...undo, parts }),
    onSuccess: setDone,
    onSettled: () => renewWorkspace(queries, workspace),
  });
  const back = useMutation({
    mutationFn: (operation: string) => on.undo({ operation }),
    onSuccess: setDone,
    onSettled: () => renewWorkspace(queries, workspace),
  });
  const own = data?.find((one) => one.file === path);
  return (
    <section id={PARTS_ID} tabIndex={-1} className="hunks" aria-label="Take back parts of this file">
      <h2>{own?.hunks.length === 0 ? "Take back this file" : "Take back parts of this file"}</h2>
      {done === undefined ? null : <TakenBack result={done} isBusy={back.isPending} onBack={back.mutate} />}
      {act.error === null ? null : <Problem error={act.error} />}
      {back.error === null ? null : <Problem error={back.error} />}
      {isPending ? <Loading what="Looking at the parts" /> : null}
      {error === null ? null : <p className="quiet">{error.message}</p>}
      {/* After an error, the parts that were read before it are outdated: the work was possibly taken back. */}
      {data === undefined || error !== null ? null : (
        <HunkList
          own={own}
          isBusy={act.isPending}
          onTake={act.mutate}
          others={data.filter((one) => one.file === from)}
        />
      )}
    </section>
  );
}

interface TakenBackProps {
  readonly result: UndoShape;
  readonly isBusy: boolean;
  readonly onBack: (operation: string) => void;
}

/** Shows the result after a part was taken back or brought back. */
function TakenBack({ result, isBusy, onBack }: TakenBackProps) {
  const { undo_id: id } = result;
  return (
    <div className="taken-back">
      <Outcome result={result} isDone />
      {id === null ? null : (
        <button type="button" className="button" disabled={isBusy} onClick={() => onBack(id)}>
          Back to how it was
        </button>
      )}
    </div>
  );
}

interface HunkListProps {
  readonly own: UndoHunksShape | undefined;
  /** The other paths of a renamed file. */
  readonly others: readonly UndoHunksShape[];
  readonly isBusy: boolean;
  readonly onTake: (parts: readonly UndoPart[]) => void;
}

function HunkList({ own, others, isBusy, onTake }: HunkListProps) {
  if (own === undefined) return <p className="quiet">Nothing of this work is left in the file.</p>;
  const { file, seen, hunks } = own;
  const parts = [{ file, seen }, ...others.map((one) => ({ file: one.file, seen: one.seen }))];
  const whole = (
    <button type="button" className="button" disabled={isBusy} onClick={() => onTake(parts)}>
      <Undo2 size={14} aria-hidden="true" /> Take back the whole file
    </button>
  );
  if (hunks.length === 0) return whole;
  return (
    <>
      <ol className="hunk-list">
        {hunks.map((hunk) => (
          <Hunk
            key={`${hunk.from_line}-${hunk.to_line}`}
            hunk={hunk}
            isBusy={isBusy}
            onTake={() => onTake([{ file, seen, fromLine: hunk.from_line, toLine: hunk.to_line, hunk: true }])}
          />
        ))}
      </ol>
      {hunks.length > 1 ? whole : null}
    </>
  );
}

function Hunk({
  hunk,
  isBusy,
  onTake,
}: {
  readonly hunk: UndoHunkShape;
  readonly isBusy: boolean;
  readonly onTake: () => void;
}) {
  const lines = hunk.patch.split("\n").filter((line) => !line.startsWith("@@") && line !== "");
  const count = hunk.to_line - hunk.from_line + 1;
  return (
    <li className="hunk">
      <header>
        <span className="quiet">
          {count === 1 ? `Line ${hunk.from_line}` : `Lines ${hunk.from_line} to ${hunk.to_line}`} would become:
        </span>
        <span className="grow" />
        {hunk.merges ? (
          <button type="button" className="button" disabled={isBusy} onClick={onTake}>
            <Undo2 size={14} aria-hidden="true" /> Take this back
          </button>
        ) : (
          <span className="tag warn">edited since: it would be a conflict, which you can settle</span>
        )}
      </header>
      <pre className="patch">
        {lines.map((line, i) => (
          // The lines of a patch have no other identity than their place.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={i} className={line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : ""}>
            {visibleLine(line)}
            {"\n"}
          </span>
        ))}
      </pre>
    </li>
  );
}
