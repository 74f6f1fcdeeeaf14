/** Where the files of blobs are: one of 256 folders by the first two digits of the key, so that no folder gets very long. */
import { join } from 'node:path'

/** The paths of one blob. */
export interface BlobPaths {
  readonly folder: string
  /** The whole blob. */
  readonly file: string
  /** An unfinished write. The name depends on the key alone, so that a deletion finds it. */
  readonly unfinished: string
}

/** Returns the paths of a key, which must be checked before. */
export function blobPaths(directory: string, key: string): BlobPaths {
  const folder = join(directory, key.slice(0, 2))
  const file = join(folder, key)
  return { folder, file, unfinished: `${file}.unfinished` }
}
