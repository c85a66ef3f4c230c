import { size } from "../parts/words.ts";

/**
 * Maps file extensions to the types that are shown as pictures. SVG is shown as text instead, because an SVG file can
 * have scripts and addresses.
 */
const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  ico: "image/x-icon",
};

interface ImagesProps {
  readonly path: string;
  readonly before: Uint8Array<ArrayBuffer>;
  readonly after: Uint8Array<ArrayBuffer>;
  readonly names?: readonly [string, string];
}

/** Shows a binary file before and after a change: as pictures if the file is a picture, else in words. */
export function Images({ path, before, after, names: [earlier, later] = ["before", "after"] }: ImagesProps) {
  const type = TYPES[path.slice(path.lastIndexOf(".") + 1).toLowerCase()];
  if (type === undefined)
    return (
      <p className="quiet note">
        A binary file: {size(before.length)} {earlier}, {size(after.length)} {later}.
      </p>
    );
  return (
    <div className="images">
      <Picture title={earlier} bytes={before} type={type} />
      <Picture title={later} bytes={after} type={type} />
    </div>
  );
}

interface PictureProps {
  readonly title: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

function Picture({ title, bytes, type }: PictureProps) {
  const show = (image: HTMLImageElement): (() => void) => {
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    image.src = url;
    return () => URL.revokeObjectURL(url);
  };
  return (
    <figure>
      {bytes.length === 0 ? <div className="no-picture">none</div> : <img ref={show} alt={`The file ${title}`} />}
      <figcaption className="quiet">
        {title}, {size(bytes.length)}
      </figcaption>
    </figure>
  );
}
