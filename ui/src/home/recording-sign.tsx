import type { RecorderShape, RecordingShape } from "../../../src/api/shapes.ts";
import { useRecording } from "../data/queries.ts";
import { Ago } from "../parts/time.tsx";
import { counted } from "../parts/words.ts";

const WORDS: Readonly<Record<RecordingShape["state"], string>> = {
  everything: "recording",
  tool_calls: "recording tool calls",
  nothing: "not recording between commands",
};

const NAMES: Readonly<Partial<Record<RecorderShape["kind"], string>>> = { sync: "the sync", server: "the server" };

const HOW =
  "Other changes are recorded with the next command or tool call. To record each as it happens: chronicle watch --install";

/** Shows whether changes are recorded now, and by whom. */
export function RecordingSign({ workspace }: { readonly workspace: string }) {
  const { data } = useRecording(workspace);
  if (data === undefined) return null;
  const { state, by, reason, hint } = data;
  const trouble = by.find((one) => one.trouble !== undefined);
  const [first] = by;
  const title =
    trouble?.trouble ?? reason ?? by.map(({ kind, actor }) => [kind, actor].filter(Boolean).join(" ")).join(", ");
  return (
    <span
      className={`recording ${trouble === undefined ? state : "trouble"}`}
      title={[title, trouble?.hint ?? hint ?? (state === "everything" ? "" : HOW)].filter(Boolean).join("\n")}
    >
      <span className="dot" aria-hidden="true" />
      {trouble !== undefined ? (
        "recording has trouble"
      ) : state === "nothing" && reason !== null ? (
        <>
          not recording <span className="quiet recording-reason">{reason}</span>
        </>
      ) : (
        WORDS[state]
      )}
      {first === undefined || state === "nothing" ? null : (
        <span className="quiet">
          {by.length > 1
            ? `by ${counted(by.length, "process", "processes")}`
            : `by ${first.actor ?? NAMES[first.kind] ?? first.kind}`}
          {first.since === null ? null : (
            <>
              , since <Ago at={first.since} />
            </>
          )}
        </span>
      )}
    </span>
  );
}
