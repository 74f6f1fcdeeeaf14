/** Operations as metrics: counts, durations, rows, commits and caches, with names and codes as attributes and never a value. */
import type { Attributes, BatchObservableCallback, Meter, MeterProvider, MetricOptions, Observable } from '@opentelemetry/api'
import { metrics as api, createNoopMeter } from '@opentelemetry/api'
import { afterEach, expect, it } from 'vitest'
import { openTelemetryMetrics } from '../../../src/adapters/opentelemetry/index.ts'
import type { Metrics, VaultOptions } from '../../../src/index.ts'
import { type Clients, callerOf, openClients } from '../../support/audit/audited-clients.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** One measurement, by its instrument. */
interface Measured {
  readonly name: string
  readonly value: number
  readonly attributes: Attributes
}

/** A meter that keeps what it is given, as an SDK with an exporter in memory does. */
function recordingMeter() {
  const measured: Measured[] = []
  const units = new Map<string, string | undefined>()
  const callbacks: BatchObservableCallback[] = []
  const names = new Map<Observable, string>()
  const record = (name: string, options: MetricOptions = {}) => {
    units.set(name, options.unit)
    return (value: number, attributes: Attributes = {}) => void measured.push({ name, value, attributes })
  }
  const observable = (name: string, options?: MetricOptions) => {
    record(name, options)
    const instrument: Observable = { addCallback() {}, removeCallback() {} }
    names.set(instrument, name)
    return instrument
  }
  const meter: Meter = {
    ...createNoopMeter(),
    createCounter: (name, options) => ({ add: record(name, options) }),
    createHistogram: (name, options) => ({ record: record(name, options) }),
    createObservableCounter: observable,
    createObservableUpDownCounter: observable,
    addBatchObservableCallback: (callback) => void callbacks.push(callback),
  }
  /** Collects what is observed, as an SDK does at each export. */
  async function collect(): Promise<Record<string, Measured[]>> {
    const observed: Measured[] = []
    for (const callback of callbacks) {
      await callback({
        observe: (instrument, value, attributes = {}) =>
          void observed.push({ name: names.get(instrument) ?? '', value, attributes }),
      })
    }
    const byName: Record<string, Measured[]> = {}
    for (const one of [...measured, ...observed]) byName[one.name] = [...(byName[one.name] ?? []), one]
    return byName
  }
  return { meter, units, collect, provider: { getMeter: () => meter } satisfies MeterProvider }
}

/** Sums the measurements of an instrument that have these attributes. */
function sumOf(measured: readonly Measured[] | undefined, attributes: Attributes): number {
  const own = (measured ?? []).filter((one) =>
    Object.entries(attributes).every(([name, value]) => one.attributes[name] === value),
  )
  return own.reduce((sum, { value }) => sum + value, 0)
}

const POLICY = { clerk: ['ALLOW CREATE ON clients.name'] } as const
const ANN = { fields: { name: 'TEST_SECRET Ann', email: 'test-secret@acme.example' } } as const

function openMeasured(metrics: Metrics, more: Partial<VaultOptions<Clients>> = {}, storage = memoryEngine().fresh().open()) {
  return openClients(storage, { policy: POLICY, metrics, ...more })
}

afterEach(() => {
  api.disable()
})

onEachStorage('metrics', (engine) => {
  it.each(['on', 'off'] as const)('count operations, rows and commits, with the audit %s', async (audit) => {
    const { meter, units, collect } = recordingMeter()
    const vault = await openMeasured(openTelemetryMetrics({ meter }), { audit }, engine.fresh().open())
    const owner = vault.as(OWNER)
    const { records } = await owner.insert('clients', [ANN, { fields: { name: 'Bo' } }])
    await owner.get('clients', { ids: records.map(({ id }) => id) })
    await owner.insert('clients', [ANN]).catch(() => {})
    await vault
      .as(callerOf('clerk'))
      .get('clients')
      .catch(() => {})
    await owner.updateMany(
      'clients',
      records.map(({ id }) => ({ id, fields: { salary: 5 } })),
    )
    await owner.batch([
      { method: 'POST', tableName: 'clients', fields: { name: 'Cy' } },
      { method: 'DELETE', tableName: 'clients', ID: { response: 0 } },
    ])
    await owner.batch([{ method: 'POST', tableName: 'clients', fields: { name: 'Cy' } }])
    await Promise.all(['1', '2', '3'].map((name) => owner.insert('clients', [{ fields: { name } }])))

    const found = await collect()
    const of = (operation: string) => ({ 'strongroom.operation': operation })
    const operations = found['strongroom.operations']
    expect(sumOf(operations, of('insert'))).toBe(5)
    expect(sumOf(operations, { ...of('insert'), 'error.type': 'conflict' })).toBe(1)
    expect(sumOf(operations, { ...of('get'), 'error.type': 'forbidden' })).toBe(1)
    expect(sumOf(operations, of('update'))).toBe(1)
    expect(sumOf(operations, of('batch'))).toBe(2)
    const inClients = (operation: string) => ({ ...of(operation), 'strongroom.table': 'clients' })
    expect(sumOf(found['strongroom.rows.written'], inClients('insert'))).toBe(5)
    expect(sumOf(found['strongroom.rows.written'], inClients('update'))).toBe(2)
    expect(sumOf(found['strongroom.rows.written'], of('batch'))).toBe(3)
    expect(sumOf(found['strongroom.rows.read'], inClients('get'))).toBe(2)

    const durations = found['strongroom.operation.duration'] ?? []
    expect(durations).toHaveLength(operations?.length ?? 0)
    expect(durations.every(({ value }) => value >= 0 && value < 60)).toBe(true)
    expect(units.get('strongroom.operation.duration')).toBe('s')
    const commits = (found['strongroom.commit.operations'] ?? []).map(({ value }) => value)
    expect(commits.every((size) => Number.isInteger(size) && size >= 1)).toBe(true)
    // Three inserts of one turn share their commit.
    expect(Math.max(...commits)).toBe(3)
    await vault.close()
  })
})

it('caches are observed: entries while the vault is open, and counts that never fall', async () => {
  const { meter, collect } = recordingMeter()
  const metrics = openTelemetryMetrics({ meter })
  const vaults = [await openMeasured(metrics), await openMeasured(metrics)]
  for (const vault of vaults) {
    await vault.as(OWNER).query('SELECT name FROM clients')
    await vault.as(OWNER).query('SELECT name FROM clients')
  }
  const of = (cache: string) => ({ 'strongroom.cache': cache })
  const open = await collect()
  expect(sumOf(open['strongroom.cache.entries'], of('access'))).toBe(2)
  expect(sumOf(open['strongroom.cache.hits'], of('access'))).toBe(2)
  expect(sumOf(open['strongroom.cache.misses'], of('access'))).toBe(2)
  expect(sumOf(open['strongroom.cache.entries'], of('query_forms'))).toBe(2)
  expect(sumOf(open['strongroom.cache.hits'], of('query_forms'))).toBe(2)
  for (const vault of vaults) await vault.close()
  const closed = await collect()
  expect(sumOf(closed['strongroom.cache.entries'], {})).toBe(0)
  expect(sumOf(closed['strongroom.cache.hits'], of('query_forms'))).toBe(2)
})

it('attributes hold names and codes only, also of a table that does not exist', async () => {
  const { meter, collect } = recordingMeter()
  const vault = await openMeasured(openTelemetryMetrics({ meter }))
  const owner = vault.as(OWNER)
  const { records } = await owner.insert('clients', [ANN], { tokenization: true })
  await owner.get('test_secret' as never).catch(() => {})
  await owner.query("SELECT name FROM clients WHERE email = 'test-secret@acme.example'")
  await owner.detokenize([{ token: records[0]?.tokens.email ?? '' }])
  const text = JSON.stringify(await collect())
  expect(text).not.toMatch(/secret|acme/i)
  expect(text).not.toContain(records[0]?.id ?? 'id')
  expect(text).not.toContain(records[0]?.tokens.email ?? 'token')
})

it('a provider can be registered after the vault was opened', async () => {
  const vault = await openMeasured(openTelemetryMetrics())
  await vault.as(OWNER).insert('clients', [ANN])
  const { provider, collect } = recordingMeter()
  api.setGlobalMeterProvider(provider)
  await vault.as(OWNER).get('clients')
  const { 'strongroom.operations': operations } = await collect()
  expect(operations).toMatchObject([{ value: 1, attributes: { 'strongroom.operation': 'get' } }])
})

it('metrics that throw change neither a result nor an error', async () => {
  const throwing = () => {
    throw new Error('the exporter is gone')
  }
  const metrics: Metrics = { operationEnded: throwing, committed: throwing, observeCaches: throwing }
  const vault = await openMeasured(metrics)
  const owner = vault.as(OWNER)
  expect((await owner.insert('clients', [ANN])).records).toHaveLength(1)
  await expect(owner.insert('clients', [ANN])).rejects.toMatchObject({ code: 'conflict' })
  await vault.close()
})

it('a meter or metrics of another kind are refused by name', async () => {
  expect(() => openTelemetryMetrics({ meter: {} as never })).toThrow('`meter` must be a meter of the OpenTelemetry API')
  await expect(openMeasured({ operationEnded() {} } as never)).rejects.toMatchObject({
    code: 'invalid_request',
    message: 'Cannot open the vault: option "metrics" must be metrics, such as openTelemetryMetrics().',
  })
})
