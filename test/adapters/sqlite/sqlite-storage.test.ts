/** What the SQLite storage promises beyond the conformance suite: group commits, durability, unique ids, and closing. */
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { openDatabase } from '../../../src/adapters/sqlite/open-database.ts'
import type { Storage } from '../../../src/core/ports/storage.ts'
import { commitsInLog, labels, withStorage } from './notes-storage.ts'
import { ALL, EVERY, NOTES } from './notes-table.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

/** How often the file was committed to, as another connection counts it. */
function commitCounter(filename: string): { changed(): boolean; close(): void } {
  const watcher = new Database(filename)
  let before = watcher.pragma('data_version', { simple: true })
  return {
    changed() {
      const after = watcher.pragma('data_version', { simple: true })
      const changed = after !== before
      before = after
      return changed
    },
    close: () => watcher.close(),
  }
}

describe('group commit', () => {
  it('rolls back the transactions that fail and stores the others that share their commit', async () => {
    await withStorage(async (storage) => {
      const own = new Error('mine')
      const writers = Array.from({ length: 40 }, (_, n) =>
        storage.transaction(async (inner) => {
          const [id = 0] = await inner.reserveIds('notes', 1)
          await inner.insert('notes', [{ id, label: `note ${n}` }])
          if (n % 3 === 0) throw own
          return n
        }),
      )
      const endings = await Promise.allSettled(writers)
      endings.forEach((ending, n) => {
        expect(ending).toEqual(n % 3 === 0 ? { status: 'rejected', reason: own } : { status: 'fulfilled', value: n })
      })
      const kept = Array.from({ length: 40 }, (_, n) => n).filter((n) => n % 3 !== 0)
      expect((await labels(storage)).sort()).toEqual(kept.map((n) => `note ${n}`).sort())
    })
  })

  it('hides a group from readers, and acknowledges no writer, until the group is committed', async () => {
    await withStorage(async (storage, filename) => {
      const counter = commitCounter(filename)
      let acknowledged = 0
      let last: Promise<void> | undefined
      const writers = Array.from({ length: 5 }, (_, n) => {
        const writer = storage.transaction(async (inner) => {
          await inner.insert('notes', [{ id: n + 1, label: `note ${n}` }])
          // On a busy machine a group may be split: then only the acknowledged part is visible.
          expect(await labels(storage)).toHaveLength(acknowledged)
        })
        last = writer
        return writer.then(() => {
          acknowledged++
        })
      })
      await last
      expect(counter.changed()).toBe(true)
      await Promise.all(writers)
      expect(acknowledged).toBe(5)
      counter.close()
    })
  })

  it('shares a commit between writers that come together, also after one that came alone', async () => {
    await withStorage(async (storage, filename) => {
      for (const id of [1, 2, 3]) await storage.insert('notes', [{ id, label: `alone ${id}` }])
      const before = commitsInLog(filename)
      await Promise.all(Array.from({ length: 20 }, (_, i) => storage.insert('notes', [{ id: 10 + i, label: `together ${i}` }])))
      // A group ends after 10 ms, also on a machine that is busy.
      expect(commitsInLog(filename) - before).toBeLessThan(10)
    })
  })

  it('rejects single inserts that conflict inside a group and keeps their neighbors', async () => {
    await withStorage(async (storage) => {
      const endings = await Promise.allSettled(
        ['a', 'b', 'a', 'c'].map((label, n) => storage.insert('notes', [{ id: n + 1, label }])),
      )
      expect(endings.map((ending) => ending.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
      expect(endings[2]).toMatchObject({
        reason: { code: 'conflict', details: [{ table: 'notes', columns: ['label'], index: 0 }] },
      })
      expect(await labels(storage)).toEqual(['a', 'b', 'c'])
    })
  })

  /** What makes SQLite undo the commit of all, as a full disk does, when one of them writes this label. */
  const UNDOING = {
    'while one of them writes': `create trigger undo before insert on notes when new.label = 'bad' begin select raise(rollback, ''); end`,
    'while it commits': `
      create table parents (id integer primary key);
      create table children (parent integer references parents deferrable initially deferred);
      create trigger undo after insert on notes when new.label = 'bad' begin insert into children values (1); end`,
  }

  it.each(Object.entries(UNDOING))('keeps all but the one at fault of a commit that SQLite undoes %s', async (_, triggers) => {
    await withStorage(async (storage, filename) => {
      const other = new Database(filename)
      other.exec(triggers)
      other.close()
      const endings = await Promise.allSettled([
        storage.insert('notes', [{ id: 1, label: 'a' }]),
        storage.transaction((inner) => inner.insert('notes', [{ id: 2, label: 'b' }])),
        storage.insert('notes', [{ id: 3, label: 'bad' }]),
        storage.commit({ updates: [], inserts: [{ table: 'notes', rows: [{ id: 4, label: 'c' }] }] }),
        storage.insert('notes', [{ id: 5, label: 'd' }]),
      ])
      expect(endings.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
      expect(await labels(storage)).toEqual(['a', 'b', 'c', 'd'])
    })
  })

  it('rolls back a long insert when its last row conflicts, and names only its position', async () => {
    await withStorage(async (storage) => {
      await storage.insert('notes', [{ id: 5000, label: 'secret-label' }])
      const rows = Array.from({ length: 90 }, (_, n) => ({ id: n + 1, label: n === 88 ? 'secret-label' : `note ${n}` }))
      await storage.transaction(async (inner) => {
        await inner.insert('notes', [{ id: 6000, label: 'kept' }])
        const conflict = await inner.insert('notes', rows).catch((error: unknown) => error)
        expect(conflict).toMatchObject({ code: 'conflict', details: [{ columns: ['label'], index: 88 }] })
        expect(JSON.stringify([String(conflict), conflict, String((conflict as Error).cause)])).not.toContain('secret')
      })
      expect(await labels(storage)).toEqual(['secret-label', 'kept'])
    })
  })
})

describe('durability', () => {
  it.each(['better-sqlite3', 'node:sqlite'] as const)(
    '%s commits with synchronous = FULL in WAL mode, or with NORMAL',
    async (driver) => {
      const database = openDatabase({ filename: nextFile(), synchronous: 'full', driver })
      for (const text of ['create table t (x)', 'insert into t values (1)']) database.writer.prepare(text, 'change').run([])
      expect(database.writer.pragma('synchronous')).toBe(2)
      expect(database.writer.pragma('journal_mode')).toBe('wal')
      expect(() => database.assertDurable('failed_precondition')).not.toThrow()
      database.writer.pragma('synchronous = normal')
      expect(() => database.assertDurable('failed_precondition')).toThrow(/synchronous = full/)
      database.close()
      const relaxed = openDatabase({ filename: nextFile(), synchronous: 'normal', driver })
      expect(relaxed.writer.pragma('synchronous')).toBe(1)
      relaxed.close()
    },
  )

  it('returns the stored rows from a reopened file', async () => {
    const filename = nextFile()
    const first = sqliteStorage({ filename })
    await first.prepare([NOTES])
    const [id = 0] = await first.reserveIds('notes', 1)
    await first.insert('notes', [{ id, label: 'kept', body: new Uint8Array([0, 255]) }])
    await first.close()
    const second = sqliteStorage({ filename })
    await second.prepare([NOTES])
    expect(await second.get('notes', [id])).toEqual([
      { id, version: 1, label: 'kept', amount: null, body: new Uint8Array([0, 255]) },
    ])
    expect((await second.reserveIds('notes', 1))[0]).toBeGreaterThan(id)
    await second.close()
  })

  it('rejects names of a database in memory', () => {
    for (const filename of [':memory:', '', ' ']) {
      expect(() => sqliteStorage({ filename })).toThrow(/strongroom\/memory/)
    }
  })

  it('rejects a folder that does not exist and a file that is not a database', async () => {
    for (const filename of [`${nextFile()}/missing/vault.db`, import.meta.filename]) {
      expect(() => sqliteStorage({ filename })).toThrow(expect.objectContaining({ code: 'failed_precondition' }))
    }
  })
})

describe('reserved ids', () => {
  it('are not given twice when the transaction or savepoint that took them rolls back', async () => {
    await withStorage(async (storage) => {
      const given: number[] = []
      const take = async (inner: Storage, count: number) => {
        given.push(...(await inner.reserveIds('notes', count)))
      }
      const undo = new Error('undo')
      await storage.transaction(async (inner) => take(inner, 3))
      await expect(storage.transaction(async (inner) => take(inner, 2500).then(() => Promise.reject(undo)))).rejects.toBe(undo)
      await storage.transaction(async (inner) => {
        await expect(inner.transaction(async (nested) => take(nested, 1500).then(() => Promise.reject(undo)))).rejects.toBe(undo)
        await take(inner, 1200)
      })
      await take(storage, 5000)
      expect(new Set(given).size).toBe(given.length)
    })
  })

  it('taken in a rolled-back savepoint do not give their block to two handles', async () => {
    await withStorage(async (storage, filename) => {
      const other = sqliteStorage({ filename })
      await other.prepare([NOTES])
      const ours: number[] = []
      await storage.transaction(async (inner) => {
        await inner
          .transaction(async (nested) => {
            await nested.reserveIds('notes', 10)
            throw new Error('undo')
          })
          .catch(() => undefined)
        ours.push(...(await inner.reserveIds('notes', 10)))
      })
      const theirs = await other.reserveIds('notes', 2000)
      ours.push(...(await storage.reserveIds('notes', 2000)))
      expect(theirs.filter((id) => ours.includes(id))).toEqual([])
      await other.close()
    })
  })

  it('start after rows that were inserted with explicit ids', async () => {
    await withStorage(async (storage) => {
      await storage.insert('notes', [{ id: 777 }])
      expect(await storage.reserveIds('notes', 2)).toEqual([778, 779])
    })
  })

  it('end at 2^48 - 1 with a clear error', async () => {
    await withStorage(async (storage) => {
      await storage.insert('notes', [{ id: 2 ** 48 - 3 }])
      expect(await storage.reserveIds('notes', 2)).toEqual([2 ** 48 - 2, 2 ** 48 - 1])
      await expect(storage.reserveIds('notes', 1)).rejects.toMatchObject({ code: 'storage_full', grpcCode: 8 })
    })
  })
})

describe('the storage inside a transaction', () => {
  it('is rejected once its transaction has ended', async () => {
    await withStorage(async (storage) => {
      let escaped: Storage | undefined
      await storage.transaction(async (inner) => {
        escaped = inner
      })
      await expect(escaped?.insert('notes', [{ id: 1 }])).rejects.toMatchObject({ code: 'internal' })
      await expect(escaped?.get('notes', [1])).rejects.toThrow(/has ended/)
      expect(await labels(storage)).toEqual([])
    })
  })

  it('allows reads of committed rows through the outer one, and rejects its writes, which would deadlock', async () => {
    await withStorage(async (storage) => {
      await storage.transaction(async (inner) => {
        await inner.insert('notes', [{ id: 1, label: 'inner' }])
        expect(await storage.get('notes', [1])).toEqual([undefined])
        await expect(storage.insert('notes', [{ id: 2 }])).rejects.toMatchObject({ code: 'internal' })
        await expect(storage.transaction(async () => undefined)).rejects.toThrow(
          /The outer storage was called inside a transaction/,
        )
      })
      await storage.insert('notes', [{ id: 2, label: 'after' }])
      expect(await labels(storage)).toEqual(['inner', 'after'])
    })
  })

  it('separates savepoints that begin at the same time', async () => {
    await withStorage(async (storage) => {
      await storage.transaction(async (inner) => {
        const nested = (label: string, id: number, fails: boolean) =>
          inner.transaction(async (innermost) => {
            await innermost.insert('notes', [{ id, label }])
            await new Promise((resolve) => setImmediate(resolve))
            if (fails) throw new Error(label)
          })
        const endings = await Promise.allSettled([
          nested('a', 1, true),
          nested('b', 2, false),
          inner.insert('notes', [{ id: 4, label: 'd' }]),
          nested('c', 3, true),
        ])
        expect(endings.map((ending) => ending.status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'rejected'])
      })
      expect(await labels(storage)).toEqual(['b', 'd'])
    })
  })

  it('rejects calls of the outer storage inside a nested transaction', async () => {
    await withStorage(async (storage) => {
      await storage.transaction(async (inner) => {
        await inner.transaction(async () => {
          await expect(inner.insert('notes', [{ id: 1 }])).rejects.toThrow(/The outer storage was called inside a transaction/)
        })
      })
    })
  })

  it('keeps calls that are not awaited, and rolls back a nested transaction that is still pending', async () => {
    await withStorage(async (storage) => {
      let wake = (): void => {}
      const asleep = new Promise<void>((resolve) => {
        wake = resolve
      })
      const [late] = await storage.transaction(async (inner) => {
        void inner.insert('notes', [{ id: 1, label: 'kept' }])
        const nested = inner.transaction(async (nested) => {
          await nested.insert('notes', [{ id: 2, label: 'rolled back' }])
          await asleep
        })
        const late = expect(nested).rejects.toMatchObject({ code: 'internal' })
        await new Promise((resolve) => setImmediate(resolve))
        return [late]
      })
      await late
      wake()
      expect(await labels(storage)).toEqual(['kept'])
    })
  })
})

describe('closing', () => {
  it('lets waiting writers finish and rejects later calls', async () => {
    const filename = nextFile()
    const storage = sqliteStorage({ filename })
    await storage.prepare([NOTES])
    const writing = storage.insert('notes', [{ id: 1, label: 'in time' }])
    const closing = storage.close()
    await expect(storage.insert('notes', [{ id: 2 }])).rejects.toMatchObject({ code: 'unavailable' })
    await expect(storage.get('notes', [1])).rejects.toMatchObject({ code: 'unavailable' })
    await writing
    await closing
    await storage.close()
    const again = new Database(filename)
    expect(again.prepare('select label from notes').pluck().all()).toEqual(['in time'])
    again.close()
  })
})

describe('preparing', () => {
  it('names the column that would change its type, and changes nothing', async () => {
    await withStorage(async (storage) => {
      const retyped = {
        ...NOTES,
        columns: [
          { name: 'extra', type: 'text' as const },
          { name: 'amount', type: 'text' as const },
        ],
      }
      await expect(storage.prepare([retyped])).rejects.toMatchObject({
        code: 'failed_precondition',
        details: [{ table: 'notes', column: 'amount' }],
      })
      await storage.insert('notes', [{ id: 1, amount: 5 }])
      expect(Object.keys((await storage.find('notes', EVERY, ALL))[0] ?? {})).not.toContain('extra')
    })
  })

  it('adds columns to existing rows, and every handle in the process continues to work', async () => {
    await withStorage(async (storage, filename) => {
      const older = sqliteStorage({ filename })
      await older.prepare([NOTES])
      await storage.insert('notes', [{ id: 1, label: 'old' }])
      await storage.prepare([{ ...NOTES, columns: [...NOTES.columns, { name: 'rank', type: 'real' }] }])
      await storage.insert('notes', [{ id: 2, label: 'new', rank: 0.5 }])
      expect(await storage.find('notes', EVERY, ALL)).toMatchObject([{ rank: null }, { rank: 0.5 }])
      expect(await older.get('notes', [2])).toEqual([{ id: 2, version: 1, label: 'new', amount: null, body: null }])
      await older.close()
    })
  })

  it('names the column with duplicate values when it becomes unique', async () => {
    await withStorage(async (storage) => {
      await storage.insert('notes', [
        { id: 1, amount: 7 },
        { id: 2, amount: 7 },
      ])
      const stricter = { ...NOTES, indexes: [{ columns: ['amount'], unique: true }] }
      await expect(storage.prepare([stricter])).rejects.toMatchObject({
        code: 'failed_precondition',
        details: [{ column: 'amount' }],
      })
    })
  })
})
