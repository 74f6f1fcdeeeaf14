/** Changes of the schema whose process is killed while PostgreSQL builds a unique index for it, beside writers: the next process replaces what is left of the build. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { builtProcess } from '../../support/cli/built-command.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { rewritingClient } from '../../support/postgres/rewriting-client.ts'
import {
  BEFORE,
  clockAfter,
  expectModel,
  fillPeople,
  KINDS,
  type Kind,
  type Model,
  openChanging,
  work,
} from '../../support/schema-change/changing-vault.ts'
import type { DrillOptions } from '../../support/schema-change/drill-process.ts'

const KIND = KINDS.find(({ name }) => name === 'unique on a plain column') as Kind
const SCRIPT = join(import.meta.dirname, '../../support/schema-change/drill-process.ts')
const TABLE = 'strongroom.records_1_people'

/** Transactions that a build waits for, however small the table: before it reads rows, and before it is valid. */
const BEFORE_ROWS = `begin; lock table ${TABLE} in row exclusive mode`
const BEFORE_VALID = 'begin isolation level repeatable read; select 1'

/** What is left of a build is taken for an index. */
const BlindClient = rewritingClient((text) => text.replace('i.indisvalid', 'true'))

type End = (end: () => void | Promise<void>) => void

/** A vault with a writer that goes on until `finish`, which returns what must be stored. Processes can all be blind. */
async function begin(onTestFinished: End, { isBlind = false } = {}) {
  const { url, drop } = await freshDatabase(inject('postgresUrl'))
  onTestFinished(drop)
  const poolOf = (config: pg.PoolConfig): pg.Pool => {
    const pool = new pg.Pool({ connectionString: url, ...config })
    onTestFinished(() => pool.end())
    return pool
  }
  const [admin, holder] = [poolOf({}), poolOf({ max: 1, idleTimeoutMillis: 0 })]
  const open = () => postgresStorage({ pool: poolOf(isBlind ? { Client: BlindClient } : {}) })
  const older = await openChanging(open(), BEFORE)
  const model = await fillPeople(older, 40)
  let isOver = false
  const write = async (): Promise<void> => {
    for (let n = 100; !isOver; n++) {
      await work(older, model, { writer: `${n}00`, isOver: () => true })
      await pause(50)
    }
  }
  const busy = write()
  busy.catch(() => {})
  /** How many connections build, or drop what a build left. */
  const building = async (condition = 'true'): Promise<number> => {
    const { rows } = await admin.query(
      `select from pg_stat_activity where datname = current_database() and state = 'active'
        and query ~ '^(create unique|drop) index concurrently' and ${condition}`,
    )
    return rows.length
  }
  return {
    url,
    admin,
    holder,
    open,
    async finish(): Promise<Model> {
      isOver = true
      await busy
      return model
    },
    building,
    /** Resolves when a connection waits amid a build. */
    async waiting(): Promise<void> {
      while ((await building(`wait_event_type = 'Lock' and query ~ '^create'`)) !== 1) await pause(10)
    },
    /** Resolves when another connection waits for its turn to build. */
    async coming(): Promise<void> {
      const asking = `select from pg_stat_activity where datname = current_database() and query ~ '^select pg_catalog.pg_try_advisory_lock'`
      while ((await admin.query(asking)).rows.length !== 1) await pause(10)
    },
    /** The indexes of the changed column, and all others that are not valid. */
    async indexes(): Promise<readonly unknown[]> {
      const { rows } = await admin.query(`select i.indisunique as "isUnique", i.indisvalid as "isValid"
        from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname like '%city%' or not i.indisvalid`)
      return rows
    },
  }
}
type Begun = Awaited<ReturnType<typeof begin>>

/** Kills a process that the hold keeps from its end: amid the build, or at random after it began the change. */
async function kill({ url, holder, waiting }: Begun, hold: string, { kills = 0, atRandom = false } = {}): Promise<void> {
  await holder.query(hold)
  const options: DrillOptions = { address: { engine: 'postgres', url }, kind: KIND.name, role: 'change', kills }
  const child = spawn(process.execPath, [builtProcess(SCRIPT), JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  await once(child.stdout, 'data')
  await (atRandom ? pause(Math.random() * 100) : waiting())
  child.kill('SIGKILL')
  expect(await gone).toEqual([null, 'SIGKILL'])
}

const LEFT = [{ isUnique: true, isValid: false }]
const BUILT = [{ isUnique: true, isValid: true }]

/** Changes the schema in this process. */
async function change(begun: Begun, kills: number): Promise<void> {
  const changing = await openChanging(begun.open(), BEFORE, { clock: clockAfter(kills) })
  await changing.applySchemaChange(await changing.planSchemaChange(KIND.after))
}

/** Throws unless all is stored that was written meanwhile, and what must be unique is. */
async function expectWhole(begun: Begun): Promise<void> {
  const model = await begun.finish()
  await expectModel(await openChanging(begun.open(), KIND.after, { schemaChanges: 'refuse' }), model, KIND)
}

/** The server looks every 20 ms whether the client of a statement is still there: a build ends with its process. */
async function endBuildsOfTheDead({ admin }: Begun): Promise<void> {
  await admin.query(`do $$ begin
    execute format('alter database %I set client_connection_check_interval = 20', current_database()); end $$`)
}

async function noneBuilds({ building }: Begun): Promise<void> {
  while ((await building()) > 0) await pause(10)
}

it.concurrent('processes are killed amid the build again and again: the last one replaces what is left', async ({
  onTestFinished,
}) => {
  const begun = await begin(onTestFinished)
  await endBuildsOfTheDead(begun)
  for (let kills = 0; kills < 4; kills++) {
    const atRandom = kills > 1
    await kill(begun, kills % 2 === 0 ? BEFORE_ROWS : BEFORE_VALID, { kills, atRandom })
    await noneBuilds(begun)
    await begun.holder.query('commit')
    if (!atRandom) expect(await begun.indexes()).toEqual(LEFT)
  }
  await change(begun, 4)
  expect(await begun.indexes()).toEqual(BUILT)
  await expectWhole(begun)
})

it.concurrent.for([BEFORE_ROWS, BEFORE_VALID])(
  'the server goes on building for a killed process, and the next one comes meanwhile: %s',
  async (hold, { onTestFinished }) => {
    const begun = await begin(onTestFinished)
    await kill(begun, hold)
    const changed = change(begun, 1)
    await begun.coming()
    await begun.holder.query('commit')
    await changed
    expect(await begun.indexes()).toEqual(BUILT)
    await expectWhole(begun)
  },
)

it.concurrent('what is left would be taken for the index without a look at whether it is valid, which this test finds', async ({
  onTestFinished,
}) => {
  const begun = await begin(onTestFinished, { isBlind: true })
  await endBuildsOfTheDead(begun)
  await kill(begun, BEFORE_ROWS)
  await noneBuilds(begun)
  await begun.holder.query('commit')
  await change(begun, 1)
  expect(await begun.indexes()).toEqual(LEFT)
  await expect(expectWhole(begun)).rejects.toThrow('instead of rejecting')
})
