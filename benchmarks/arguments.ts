/** The command line of a run. */
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { type StorageName, storageNames } from './entries.ts'

export interface Arguments {
  /** Name of the one bench to run. */
  readonly only: string | undefined
  readonly storage: StorageName | undefined
  /** Most rows any table is filled with. */
  readonly rows: number | undefined
  /** File to write the figures to, the chart beside it. */
  readonly json: string | undefined
  /** Everything once and small, to see that it works. */
  readonly smoke: boolean
}

export const USAGE = 'npm run bench -- [--only NAME] [--storage sqlite|postgres|memory|none] [--rows N] [--json FILE] [--smoke]'

/** Throws a sentence for whoever typed it. */
export function parseArguments(words: readonly string[], names: readonly string[]): Arguments {
  const shape = z.strictObject({
    only: z.enum(names).optional(),
    storage: z.enum(storageNames).optional(),
    rows: z.coerce.number().int().min(1000).optional(),
    json: z.string().min(1).optional(),
    smoke: z.boolean().default(false),
  })
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: 'string' },
      storage: { type: 'string' },
      rows: { type: 'string' },
      json: { type: 'string' },
      smoke: { type: 'boolean' },
    },
  })
  const parsed = shape.safeParse(values)
  if (!parsed.success)
    throw new Error(parsed.error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`).join('\n'))
  const { only, storage, rows, json, smoke } = parsed.data
  return { only, storage, rows, json, smoke }
}

/** True where everything was run in full: the only figures worth committing. */
export function isFullRun({ only, storage, rows, smoke }: Arguments): boolean {
  return only === undefined && storage === undefined && rows === undefined && !smoke
}
