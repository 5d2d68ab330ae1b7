// Stripe as far as Notewell uses it: Checkout sessions, their page, and signed webhooks. It refuses a
// request that has not every field it should, and remembers why.
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';

export const key = 'sk_test_0123456789abcdef';
export const secret = 'whsec_0123456789abcdef';

const bodyOf = async request => {
  let text = '';
  for await (const part of request) text += part;
  return text;
};

/** What is wrong with a request for a session; `undefined` when nothing is. */
function fault(request, fields) {
  if (request.headers.authorization !== `Bearer ${key}`) return 'no valid API key';
  if (!request.headers['idempotency-key']) return 'no idempotency key';
  for (const name of ['mode', 'success_url', 'cancel_url', 'client_reference_id', 'line_items[0][price_data][unit_amount]', 'line_items[0][price_data][currency]']) {
    if (!fields.get(name)) return `no ${name}`;
  }
  return undefined;
}

/** Starts the provider. `server()` gives the Notewell that hears of payments. */
export async function startStripe(server) {
  const sessions = new Map();
  const faults = [];
  const report = async session => {
    const event = JSON.stringify({
      id: `evt_${session.id}`, object: 'event', type: 'checkout.session.completed', created: Math.floor(Date.now() / 1000),
      data: { object: { id: session.id, object: 'checkout.session', mode: 'payment', status: 'complete', payment_status: 'paid',
        client_reference_id: session.reference, amount_total: session.amount, currency: session.currency } },
    });
    const time = Math.floor(Date.now() / 1000);
    const sign = createHmac('sha256', secret).update(`${time}.${event}`).digest('hex');
    return fetch(`${server().url}/webhooks/stripe`, {
      method: 'POST', body: event, headers: { 'content-type': 'application/json', 'stripe-signature': `t=${time},v1=${sign}` },
    });
  };
  const site = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://stripe.test');
    const page = text => { response.setHeader('content-type', 'text/html'); response.end(`<!doctype html><html lang="en"><title>Pay</title><link rel="icon" href="data:,">${text}</html>`); };
    if (request.method === 'POST' && pathname === '/v1/checkout/sessions') {
      const fields = new URLSearchParams(await bodyOf(request));
      const wrong = fault(request, fields);
      if (wrong) {
        faults.push(wrong);
        response.statusCode = 400;
        return response.end(JSON.stringify({ error: { message: wrong } }));
      }
      const id = `cs_test_${sessions.size + 1}`;
      const session = { id, reference: fields.get('client_reference_id'), amount: Number(fields.get('line_items[0][price_data][unit_amount]')),
        currency: fields.get('line_items[0][price_data][currency]'), paid: fields.get('success_url'), cancelled: fields.get('cancel_url') };
      sessions.set(id, session);
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ id, object: 'checkout.session', status: 'open', client_reference_id: session.reference,
        amount_total: session.amount, currency: session.currency, url: `${address()}/c/pay/${id}` }));
    }
    const session = sessions.get(pathname.split('/').at(-1));
    if (!session) { response.statusCode = 404; return response.end(); }
    if (request.method === 'GET') {
      return page(`<main><h1>Pay ${session.amount / 100} ${session.currency}</h1><form method="post"><button name="do" value="pay">Pay</button><button name="do" value="cancel">Cancel</button></form></main>`);
    }
    const pays = (await bodyOf(request)).includes('pay');
    if (pays) {
      const heard = await report(session);
      if (heard.status !== 200) faults.push(`the webhook answered ${heard.status}: ${await heard.text()}`);
    }
    response.statusCode = 303;
    response.setHeader('location', pays ? session.paid : session.cancelled);
    return response.end();
  });
  await new Promise(resolve => site.listen(0, '127.0.0.1', resolve));
  const address = () => `http://127.0.0.1:${site.address().port}`;
  return { url: address(), sessions, faults, report, stop: () => site.close() };
}
