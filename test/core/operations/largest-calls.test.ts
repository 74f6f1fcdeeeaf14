/** Calls with more items than a JavaScript engine takes arguments: every verb that takes or answers a list, on every storage. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { builtProcess } from '../../support/cli/built-command.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import type { LargestCalls } from '../../support/trials/largest-calls-process.ts'

const PROGRAM = builtProcess(join(import.meta.dirname, '../../support/trials/largest-calls-process.ts'))
/** Kilobytes of stack, of which Node has 984 by default, and takes some 120,000 arguments with. With these it takes some 9,500. */
const STACK = 80
const ITEMS = 10_000

onEachStorage('a list that is longer than the arguments that the engine takes', (engine) => {
  it('is accepted by every verb', async () => {
    const address = engine.fresh().address()
    const call: LargestCalls = { items: ITEMS, ...(address === undefined ? {} : { address }) }
    const { stdout } = await promisify(execFile)(process.execPath, [`--stack-size=${STACK}`, PROGRAM, JSON.stringify(call)])
    const answered: Record<string, unknown> = JSON.parse(stdout)
    expect(Object.keys(answered).length).toBeGreaterThan(15)
    for (const [verb, items] of Object.entries(answered)) expect([verb, items]).toEqual([verb, ITEMS])
  })
})
