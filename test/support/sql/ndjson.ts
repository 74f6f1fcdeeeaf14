/** Reads the test vectors that hold one JSON value a line. */
import { readFileSync } from 'node:fs'

/** The lines of a file of `test/vectors/sql`. The caller says what a line is: the vectors are ours and do not change under it. */
export function sqlVectors<Line>(name: string): readonly Line[] {
  const text = readFileSync(new URL(`../../vectors/sql/${name}.ndjson`, import.meta.url), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line): Line => JSON.parse(line))
}
