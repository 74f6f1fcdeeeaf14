/** A follower whose storage cannot be reached for a while, whose cursor cannot be written, and whose trail was changed. */
import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import type { Target } from '../../../src/cli/follow/target.ts'
import { assertDelivered, openFollowWorld, until } from '../../support/cli/follow-world.ts'
import { startFaultyProxy } from '../../support/postgres/faulty-proxy.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'

function keepingTarget(): { target: Target; lines: string[] } {
  const lines: string[] = []
  const target: Target = {
    name: 'kept',
    deliver: async (messages) => {
      for (const { text } of messages) lines.push(text)
    },
  }
  return { target, lines }
}

describe('a follower', () => {
  it('goes on when the database is back', async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    const proxy = await startFaultyProxy(database.url)
    const storage = postgresStorage({ connectionString: proxy.url })
    onTestFinished(async () => {
      await storage.close(0)
      await proxy.stop()
      await database.drop()
    })
    const world = await openFollowWorld(storage)
    const { target, lines } = keepingTarget()
    await world.work(6)
    const following = world.follow(target)
    await until('six lines', () => lines.length === 6)
    proxy.intercept({ fromClient: () => 'reset' })
    await until('an outage', () => world.log.filter(({ message }) => message === 'the storage cannot be read').length > 1)
    proxy.mend()
    await world.work(6)
    await until('all lines', () => new Set(lines).size === 12)
    expect((await following.stop()).delivered).toBe(12)
    await assertDelivered(lines, 12)
  })

  it('delivers no further batch before its cursor is kept', async () => {
    const world = await openFollowWorld()
    const { target, lines } = keepingTarget()
    // The next cursor is written beside the old one.
    mkdirSync(join(world.folder, 'cursor.next'))
    await world.work(3)
    const following = world.follow(target)
    await until('a failure', () => world.log.some(({ details }) => details.target === 'the file of the cursor'))
    await world.work(3)
    expect(lines).toHaveLength(3)
    rmdirSync(join(world.folder, 'cursor.next'))
    await until('all lines', () => lines.length === 6)
    expect((await following.stop()).delivered).toBe(6)
  })

  it('reports a trail that was changed, and counts it', async () => {
    const storage = memoryStorage()
    const world = await openFollowWorld(storage)
    const { target, lines } = keepingTarget()
    await world.work(6)
    const [row] = await storage.find('audit_events', { kind: 'all' }, { order: 'asc', limit: 1 })
    await storage.delete('audit_events', { ids: [(row?.id ?? 0) + 3] })
    const following = world.follow(target)
    await until('a report', () => world.log.some(({ level }) => level === 'error'))
    expect(world.log.at(-1)?.details.reason).toBe('Event 4 of audit chain 1 is missing.')
    await until('what is before it', () => lines.length === 3)
    expect(await following.stop()).toEqual({ delivered: 3, failures: 1 })
  })
})
