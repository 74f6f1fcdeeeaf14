/** The tables of docs/http.md name every option of a handler, and the status of every error code. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { STATUSES } from '../../src/index.ts'

const TOP = new URL('../..', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, TOP), 'utf8')

it('docs/http.md has each error code in the row of its status, with its gRPC code', () => {
  const rows = [...read('docs/http.md').matchAll(/^\| (\d{3}) \| ([\d, ]+) \| (.*) \|$/gm)]
  const listed = rows.flatMap(([, status, grpc = '', codes = '']) => {
    const names = [...codes.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '')
    return names.map((name) => ({ name, status: Number(status), grpc: grpc.split(', ').map(Number) }))
  })
  expect(listed.map(({ name }) => name).sort()).toEqual(Object.keys(STATUSES).sort())
  for (const { name, status, grpc } of listed) {
    const known = Object.entries(STATUSES).find(([code]) => code === name)?.[1]
    expect(known, name).toMatchObject({ http: status })
    expect(grpc, name).toContain(known?.grpc)
  }
})

it('docs/http.md has a row for each option', () => {
  const members = read('src/http/options.ts').match(/export interface HandlerOptions.*?\n}/s)?.[0] ?? ''
  const limits = read('src/http/options.ts').match(/export interface HttpLimits.*?\n}/s)?.[0] ?? ''
  const addresses = read('src/http/router/request-context.ts').match(/export interface AddressOptions.*?\n}/s)?.[0] ?? ''
  const names = [members, addresses].flatMap((text) => [...text.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => name ?? ''))
  const ofLimits = [...limits.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => `limits.${name}`)
  const expected = [...names.filter((name) => name !== 'limits'), ...ofLimits]
  expect(expected).toContain('vaults')
  const page = read('docs/http.md').match(/\n## Options\n.*?\n## /s)?.[0] ?? ''
  const listed = [...page.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w.]+)`/g)].map(([, name]) => name),
  )
  expect(listed.sort()).toEqual(expected.sort())
})
