/** Answers that come too late, or not at all: none of them reaches another session, another choice or another text. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ConsoleVault } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsole, signIn } from '../support/console/open-console.ts'

/** Keeps the first answer of an operation back, and returns what lets it through: in place of it, an answer of the status. */
async function holdFirst(page: Page, operation: string, status?: number): Promise<() => void> {
  let letThrough = (): void => {}
  const held = new Promise<void>((resolve) => {
    letThrough = resolve
  })
  await page.route(
    `**/${operation}`,
    async (route) => {
      const response = await route.fetch()
      await held
      const refused = { status: status ?? 0, json: { error: { code: 'unauthenticated', message: 'late' } } }
      await route.fulfill(status === undefined ? { response } : refused).catch(() => {})
    },
    { times: 1 },
  )
  return letThrough
}

describe.skipIf(CHROMIUM === undefined)('answers that come late', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  async function changeToSupport(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(page, opened.keys.support)
    await page.locator('#cell-1-1 .value').waitFor()
  }

  it('keeps nothing of a reveal that is answered after its caller signed out', async () => {
    const { page } = await opened.signedIn('desk', `/tables/customers/${opened.customers[0]}`)
    const letThrough = await holdFirst(page, 'reveal')
    await page.getByRole('button', { name: 'Reveal phone' }).click()
    await page.getByLabel('Why do you need it?').fill('Customer asked')
    const asked = page.waitForRequest('**/reveal')
    await page.keyboard.press('Enter')
    await asked
    await page.keyboard.press('Escape')
    await changeToSupport(page)
    letThrough()
    await page.waitForTimeout(300)
    expect(await page.getByText(/Hide \d+ revealed/).count()).toBe(0)
  })

  it('ends no session by a refusal that an earlier one got', async () => {
    const { page } = await opened.signedIn('owner', '/tables/customers')
    await page.locator('#cell-1-1 .value').waitFor()
    const letThrough = await holdFirst(page, 'getOne', 401)
    await page.locator('.grid').focus()
    const asked = page.waitForRequest('**/getOne')
    await page.keyboard.press('Enter')
    await asked
    await changeToSupport(page)
    letThrough()
    await page.waitForTimeout(300)
    expect(await page.locator('.caller-name').textContent()).toBe('support')
  })

  it('does not say that nothing was changed where the answer of a write is lost', async () => {
    const { page } = await opened.signedIn('owner', '/tables/disputes/new')
    await page.route('**/insert', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('textbox', { name: 'reason' }).fill('line 1\nline 2')
    await page.keyboard.press('Enter')
    expect(await page.getByRole('alert').textContent()).toBe(
      'The server does not answer. Look whether it was done before you try again.',
    )
    const { records } = await opened.vault.as({ actor: 'o', actorType: 'USER', roles: ['VAULT_OWNER'] }).get('disputes')
    expect(records.map(({ fields }) => fields.reason)).toEqual(['line 1\nline 2'])
  })

  it('goes on where it was when the server answers again, and asks for no reload while it does not', async () => {
    const { page } = await opened.signedIn('owner', '/tables/customers')
    await page.locator('#cell-1-1 .value').waitFor()
    await page.waitForLoadState('networkidle')
    await page.context().setOffline(true)
    const unanswered = page.getByText('The server does not answer. Nothing was changed.')
    await page.locator('.grid').focus()
    await page.keyboard.press('Enter')
    await unanswered.waitFor()
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.record-value .value').first().waitFor()
    await page.context().setOffline(true)
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await unanswered.waitFor()
    expect(await page.getByRole('button', { name: 'Reload' }).count()).toBe(0)
  })
})
