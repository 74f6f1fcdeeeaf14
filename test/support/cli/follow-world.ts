/** A vault that is followed in this process, and what its follower logs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { verifyExport } from '../../../src/audit-verifier/verify-export.ts'
import { createCursorFile } from '../../../src/cli/follow/cursor-file.ts'
import { FORMS } from '../../../src/cli/follow/forms/form.ts'
import { type FollowResult, runFollow } from '../../../src/cli/follow/run-follow.ts'
import type { Target } from '../../../src/cli/follow/target.ts'
import type { Vault } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { type Clients, openClients } from '../audit/audited-clients.ts'
import { OWNER } from '../vaults/test-vault.ts'

/** What records of the tests have in their columns, and no delivery may have. */
export const SECRETS = ['Plaintext Person', 'plaintext@acme.example', '987654321'] as const

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

export interface FollowWorld {
  readonly vault: Vault<Clients>
  readonly folder: string
  readonly log: readonly LogLine[]
  /** Number of batches that followers have asked for. */
  readonly pulled: () => number
  /** Stores so many records, each by an event of its own, and reads some of them. */
  work(events: number): Promise<void>
  /** Starts a follower. It is stopped when the test has finished. */
  follow(target: Target, options?: { form?: keyof typeof FORMS; graceMs?: number }): Following
}

export interface Following {
  stop(): Promise<FollowResult>
}

export async function openFollowWorld(storage: StorageHandle = memoryStorage()): Promise<FollowWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-follow-'))
  const vault = await openClients(storage)
  const log: LogLine[] = []
  let pulled = 0
  const followAudit: typeof vault.followAudit = async function* (options) {
    for await (const batch of vault.followAudit(options)) {
      pulled++
      yield batch
    }
  }
  const stops: (() => Promise<unknown>)[] = []
  onTestFinished(async () => {
    for (const stop of stops) await stop().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    vault,
    folder,
    log,
    pulled: () => pulled,
    async work(events) {
      const [name, email, salary] = SECRETS
      for (let done = 0; done < events; done++) {
        if (done % 3 === 2) await vault.as(OWNER).query(`SELECT name FROM clients WHERE email = '${email}'`)
        else
          await vault
            .as(OWNER)
            .insert('clients', [{ fields: { name, email: `${done}-${performance.now()}-${email}`, salary: Number(salary) } }])
      }
    },
    follow(target, { form = 'event', graceMs = 2000 } = {}) {
      const stopping = new AbortController()
      const run = runFollow({
        vault: { followAudit },
        target,
        form: FORMS[form],
        cursorFile: createCursorFile(join(folder, 'cursor'), 'v1'),
        signal: stopping.signal,
        graceMs,
        pollMs: 10,
        random: () => 0,
        log: (level, message, details = {}) => log.push({ level, message, details }),
      })
      run.catch(() => {})
      const stop = async () => {
        stopping.abort()
        return run
      }
      stops.push(stop)
      return { stop }
    },
  }
}

/** Waits until it is so. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 10) {
    if (await isSo()) return
    await pause(10)
  }
  throw new Error(`after a minute it is not so: ${what}`)
}

/** Throws unless these are delivered lines of so many events, without plaintext. */
export async function assertDelivered(lines: readonly string[], eventCount: number): Promise<void> {
  const result = await verifyExport(lines, { delivered: true })
  if (!result.ok || result.eventCount !== eventCount) throw new Error(JSON.stringify({ ...result, expected: eventCount }))
  assertNoPlaintext(lines.join('\n'))
}

export function assertNoPlaintext(text: string): void {
  const found = SECRETS.find((secret) => text.includes(secret))
  if (found !== undefined) throw new Error(`it has plaintext: ${found}`)
}
