/** Each operation enters at most so many files. Who adds a file to a walk looks first for one that has its idea already. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

/** The most files that a call may enter, by operation and storage. A ceiling is lowered with the walk, and raised with a reason. */
const CEILINGS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  memory: {
    insert: 67,
    upsert: 80,
    update: 67,
    getOne: 57,
    detokenize: 54,
    query: 77,
    batch: 84,
    uploadFile: 77,
    'HTTP get': 86,
    'HTTP insert': 99,
    'HTTP upload': 106,
    'every operation': 39,
  },
  sqlite: {
    insert: 72,
    upsert: 88,
    update: 75,
    getOne: 65,
    detokenize: 62,
    query: 85,
    batch: 92,
    uploadFile: 89,
    'HTTP get': 94,
    'HTTP insert': 108,
    'HTTP upload': 118,
    'every operation': 43,
  },
}

async function walks(): Promise<Readonly<Record<string, Readonly<Record<string, { readonly files: number }>>>>> {
  const program = ['--import', './scripts/resolve-sources.ts', 'scripts/walk.ts', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: new URL('..', import.meta.url) })
  return JSON.parse(stdout)
}

describe('one warm call', async () => {
  const counted = await walks()
  it.each(Object.keys(CEILINGS))('on %s enters no more files than its ceiling', (storage) => {
    const files = Object.entries(counted[storage] ?? {}).map(([operation, walk]) => [operation, walk.files] as const)
    expect(files.map(([operation]) => operation)).toEqual(Object.keys(CEILINGS[storage] ?? {}))
    const over = files.filter(([operation, count]) => count > (CEILINGS[storage]?.[operation] ?? 0))
    expect(over, '`npm run walk -- <operation>` shows the way').toEqual([])
  })
})
