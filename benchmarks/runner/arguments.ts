/** The command line of a run. */
import { parseArgs } from 'node:util'
import * as z from 'zod'
import { type StorageName, storageNames } from '../report/result-shape.ts'

export interface Arguments {
  /** Name of the only benchmark to run. */
  readonly only: string | undefined
  readonly storage: StorageName | undefined
  /** Maximum rows in any table. */
  readonly rows: number | undefined
  /** Length of a blob, in MiB. */
  readonly mebibytes: number | undefined
  /** File for the JSON result. The chart is written beside it. */
  readonly json: string | undefined
  /** Runs everything at a small size, to check that it works. */
  readonly smoke: boolean
  /** Runs only the targets of the work on speed, at sizes that take less than two minutes. */
  readonly quick: boolean
}

export const USAGE =
  'npm run bench -- [--only NAME] [--storage sqlite|postgres|memory|none] [--rows N] [--mebibytes N] [--json FILE] [--quick] [--smoke]'

/** Parses the words after the script name. `names` are the values `--only` accepts. Throws an `Error` that names the invalid option. */
export function parseArguments(words: readonly string[], names: readonly string[]): Arguments {
  const shape = z.strictObject({
    only: z.enum(names).optional(),
    storage: z.enum(storageNames).optional(),
    rows: z.coerce.number().int().min(1000).optional(),
    mebibytes: z.coerce.number().int().min(1).optional(),
    json: z.string().min(1).optional(),
    smoke: z.boolean().default(false),
    quick: z.boolean().default(false),
  })
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: 'string' },
      storage: { type: 'string' },
      rows: { type: 'string' },
      mebibytes: { type: 'string' },
      json: { type: 'string' },
      smoke: { type: 'boolean' },
      quick: { type: 'boolean' },
    },
  })
  const parsed = shape.safeParse(values)
  if (!parsed.success)
    throw new Error(parsed.error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`).join('\n'))
  const { only, storage, rows, mebibytes, json, smoke, quick } = parsed.data
  return { only, storage, rows, mebibytes, json, smoke, quick }
}

/** True if nothing is left out or made smaller. Only the figures of a full run are worth committing. */
export function isFullRun({ only, storage, rows, mebibytes, smoke, quick }: Arguments): boolean {
  return [only, storage, rows, mebibytes].every((option) => option === undefined) && !smoke && !quick
}
