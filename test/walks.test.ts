/** Each operation enters at most so many files. Who adds a file to a walk looks first for one that has its idea already. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

/** The most files that a call may enter, by operation and storage. A ceiling is lowered with the walk, and raised with a reason. */
const CEILINGS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  memory: {
    insert: 74,
    upsert: 89,
    update: 75,
    getOne: 63,
    detokenize: 60,
    query: 83,
    batch: 91,
    uploadFile: 85,
    'HTTP get': 90,
    'HTTP insert': 104,
    'HTTP upload': 112,
    'every operation': 45,
  },
  sqlite: {
    insert: 79,
    upsert: 97,
    update: 83,
    getOne: 71,
    detokenize: 68,
    query: 91,
    batch: 99,
    uploadFile: 97,
    'HTTP get': 98,
    'HTTP insert': 113,
    'HTTP upload': 124,
    'every operation': 49,
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
