/** What every page of the console has in common, in a real Chromium: keys, palette, what is forgotten and when, and what is kept nowhere. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { type ConsoleVault, CUSTOMERS, MARKUP } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsole, signIn } from '../support/console/open-console.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const [LEONIE] = CUSTOMERS

describe.skipIf(CHROMIUM === undefined)('the console', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  const title = (page: Page): Promise<string | null> => page.locator('h1').textContent()
  const focused = (page: Page): Promise<string> =>
    page.evaluate(() => document.activeElement?.getAttribute('role') ?? document.activeElement?.textContent ?? '')

  it('shows the vault, the caller and their roles, and the pages that they may use', async () => {
    const shown = async (caller: Parameters<typeof opened.signedIn>[0]): Promise<string[]> => {
      const { page } = await opened.signedIn(caller)
      const texts = await page
        .locator('.brand b, .nav a:visible > span:first-of-type, .caller b, .caller .chip')
        .allTextContents()
      opened.release()
      return texts
    }
    const tables = ['customers', 'orders', 'disputes']
    const pages = ['Queries', 'Tokens', 'Policy']
    expect(await shown('owner')).toEqual(['acme', ...tables, ...pages, 'Audit', 'Operations', 'owner', 'VAULT_OWNER'])
    expect(await shown('desk')).toEqual(['acme', ...tables, ...pages, 'Audit', 'privacy desk', 'privacy_desk'])
    expect(await shown('analyst')).toEqual(['acme', 'customers', ...pages, 'analyst', 'analyst', 'country = SE'])
    expect(await shown('newcomer')).toEqual(['acme', ...pages, MARKUP, 'newcomer'])
  })

  it('opens at the first table, at the trail for an auditor, and says when nothing is granted', async () => {
    const opens = async (caller: Parameters<typeof opened.signedIn>[0], path = ''): Promise<(string | null)[]> => {
      const { page } = await opened.signedIn(caller, path)
      const found = [await title(page), new URL(page.url()).pathname, await page.title()]
      opened.release()
      return found
    }
    expect(await opens('desk')).toEqual(['customers', '/console/tables/customers', 'customers · strongroom'])
    expect(await opens('desk', '/tables/orders')).toEqual(['orders', '/console/tables/orders', 'orders · strongroom'])
    expect(await opens('auditor')).toEqual(['Audit', '/console/audit', 'Audit · strongroom'])
    expect((await opens('newcomer'))[0]).toBe('Tables')
    expect((await opens('support', '/ops'))[0]).toBe('No such page')
  })

  it('is used by keys alone: skip link, pages by G and a letter, palette, list of keys', async () => {
    const { page, messages } = await opened.signedIn('owner', '/tables/disputes')
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to records')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true)
    for (const [key, name] of Object.entries({ k: 'Tokens', p: 'Policy', a: 'Audit', o: 'Operations', t: 'customers' })) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await page.getByRole('heading', { level: 1, name }).waitFor()
    }
    await page.keyboard.press('ControlOrMeta+k')
    await page.keyboard.type('ord')
    expect(await page.getByRole('listbox', { name: 'Results' }).getByRole('option').allTextContents()).toEqual(['orderstable'])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'orders' }).waitFor()
    const grid = page.getByRole('grid')
    await grid.focus()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    expect([await page.getByRole('dialog').count(), await focused(page)]).toEqual([0, 'grid'])
    await page.keyboard.press('ControlOrMeta+k')
    await page.keyboard.type('no such thing')
    await page.getByText('Nothing is called that.').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('ControlOrMeta+k')
    await page.keyboard.type('sign out')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(messages).toEqual([])
  })

  it.each([
    ['light', 1320],
    ['dark', 1320],
    ['dark', 390],
  ] as const)('is accessible in %s at %i pixels, with its palette and its list of keys', async (colorScheme, width) => {
    const options = { colorScheme, viewport: { width, height: 800 } }
    const { page } = await opened.signedIn('owner', '/tables/disputes', options)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('ControlOrMeta+k')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    expect(await accessibilityFaults(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  describe('a revealed value', () => {
    /** Reveals the phone number of the first customer. Returns whether the page has it. */
    async function revealed(): Promise<{ page: Page; isShown(): Promise<boolean> }> {
      const { page } = await opened.signedIn('desk', '/tables/customers')
      return revealedIn(page)
    }

    /** Does the same with a clock that the test sets. */
    async function revealedByClock(): Promise<{ page: Page; isShown(): Promise<boolean> }> {
      const { page } = await opened.tab('/tables/customers')
      onTestFinished(() => page.context().close())
      await page.clock.install()
      await page.reload()
      await signIn(page, opened.keys.desk)
      return revealedIn(page)
    }

    async function revealedIn(page: Page): Promise<{ page: Page; isShown(): Promise<boolean> }> {
      await revealFirst(page)
      return { page, isShown: async () => (await page.content()).includes(LEONIE.phone) }
    }

    async function goToPhone(page: Page): Promise<void> {
      await page.locator('.value-masked').first().waitFor()
      await page.getByRole('grid').focus()
      for (const key of ['ControlOrMeta+Home', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key)
    }

    async function revealFirst(page: Page): Promise<void> {
      await goToPhone(page)
      await page.keyboard.press('r')
      await page.getByLabel('Why do you need it?').fill('Case 4711')
      await page.keyboard.press('Enter')
      await page.getByText('Hide 1 revealed').waitFor()
    }

    const hide = (page: Page, isHidden: boolean): Promise<void> =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, value: hidden })
        document.dispatchEvent(new Event('visibilitychange'))
      }, isHidden)

    it('has its purpose in the trail, once for two clicks, and asks for 4 to 128 characters', async () => {
      const { page, requests } = await opened.signedIn('desk', '/tables/customers')
      await goToPhone(page)
      await page.keyboard.press('r')
      const purpose = page.getByLabel('Why do you need it?')
      const button = page.getByRole('button', { name: 'Reveal for 60 s' })
      for (const [text, isEnough] of [
        ['', false],
        ['Case', true],
        ['    abc  ', false],
        ['Ärende 4711: på begäran ✓', true],
      ] as const) {
        await purpose.fill(text)
        await expect.poll(() => button.isEnabled()).toBe(isEnough)
      }
      expect(await purpose.getAttribute('maxlength')).toBe('128')
      await button.dblclick()
      await page.getByText('Hide 1 revealed').waitFor()
      expect(requests.filter((url) => url.endsWith('/reveal'))).toHaveLength(1)
      const { events } = await opened.vault.as(OWNER).listEvents({ filterOps: { accountID: 'acme', actionType: 'DETOKENIZE' } })
      expect(JSON.stringify(events[0])).toMatch(/"purpose":"Ärende 4711: på begäran ✓".*"level":"PLAIN_TEXT"/)
    })

    it('is hidden after 60 seconds, and not before', async () => {
      const { page, isShown } = await revealedByClock()
      await page.clock.runFor(55_000)
      expect(await isShown()).toBe(true)
      await page.clock.runFor(6_000)
      expect(await isShown()).toBe(false)
    })

    it.each([
      ['Escape in the grid', (page: Page) => page.keyboard.press('Escape')],
      ['its button', (page: Page) => page.getByText('Hide 1 revealed').click()],
      [
        'the palette',
        async (page: Page) => {
          await page.keyboard.press('ControlOrMeta+k')
          await page.keyboard.type('hide')
          await page.keyboard.press('Enter')
        },
      ],
      ['signing out', (page: Page) => page.getByRole('button', { name: 'Sign out' }).click()],
      ['leaving the page', (page: Page) => page.evaluate(() => dispatchEvent(new Event('pagehide')))],
    ] as const)('is hidden by %s', async (_by, act) => {
      const { page, isShown } = await revealed()
      expect(await isShown()).toBe(true)
      await act(page)
      await expect.poll(isShown).toBe(false)
      expect(await page.locator('.value-revealed').count()).toBe(await page.locator('.sign-in .value-revealed').count())
    })

    it('is forgotten in a tab that was hidden for 5 minutes, also where its timers were delayed', async () => {
      const { page, isShown } = await revealedByClock()
      await hide(page, true)
      await page.clock.runFor(30_000)
      await hide(page, false)
      expect(await isShown()).toBe(true)
      await hide(page, true)
      // No timer fires; the clock alone has gone on.
      await page.clock.pauseAt(await page.evaluate(() => Date.now() + 301_000).then((at) => at))
      await hide(page, false)
      await expect.poll(isShown).toBe(false)
    })

    it('and the credential are in no storage, cookie, address, title or state', async () => {
      const { page, isShown } = await revealed()
      expect(await isShown()).toBe(true)
      const kept = await page.evaluate(async () =>
        JSON.stringify([
          { ...localStorage },
          { ...sessionStorage },
          document.cookie,
          await caches.keys(),
          await indexedDB.databases(),
          (await navigator.serviceWorker.getRegistrations()).length,
          history.state,
          location.href,
          document.title,
          [...document.querySelectorAll('input')].map(({ value }) => value),
        ]),
      )
      const id = opened.customers[0] ?? ''
      expect(JSON.parse(kept)).toEqual([{}, {}, '', [], [], 0, null, page.url(), 'customers · strongroom', expect.anything()])
      expect(kept).not.toContain(LEONIE.phone)
      expect(kept).not.toContain(opened.keys.desk)
      expect(page.url()).not.toContain(id)
      expect(await page.context().cookies()).toEqual([])
    })
  })

  it('says when a page cannot be loaded any more, and goes on', async () => {
    const { page, requests } = await opened.tab('/tables/orders')
    await page.route('**/tokens-page-*.js', (route) => route.fulfill({ status: 404 }))
    await signIn(page, opened.keys.desk)
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page
      .getByText('This page could not be loaded. The console may have been updated: reload it and sign in again.')
      .waitFor()
    expect(await page.getByRole('button', { name: 'Reload' }).count()).toBe(1)
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.getByRole('heading', { level: 1, name: 'customers' }).waitFor()
    expect(requests.filter((url) => !url.startsWith(new URL('/', opened.url).href))).toEqual([])
  })

  it('works under a path, with links and calls below it', async () => {
    const mounted = await openConsole({ basePath: '/vault' })
    const { page, requests } = await mounted.signedIn('desk', '/tables/orders')
    await page.getByRole('link', { name: 'customers' }).click()
    await page.getByRole('heading', { level: 1, name: 'customers' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'orders' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/vault/console/tables/orders')
    expect(requests.filter((url) => !new URL(url).pathname.startsWith('/vault/'))).toEqual([])
    await mounted.close()
  })
})
