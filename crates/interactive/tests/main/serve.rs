//! `npu serve` with the embedded model: its answers, and requests that it refuses.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use npukit::verbs::generate::{Request, Session};
use npukit::{Context, NoFiles};
use npukit_cli::ServeSettings;
use npukit_interactive::serve;
use serde_json::{Value, json};

/// Starts a server with the embedded model, and returns its address.
fn started(queue: usize) -> SocketAddr {
    let session = Session::open(&Request::default(), Context::new(&NoFiles)).unwrap();
    let settings = ServeSettings {
        address: Ipv4Addr::LOCALHOST.into(),
        port: 0,
        hosts: vec!["npu.test".to_owned()],
        origins: vec!["http://page.test".to_owned()],
        queue,
    };
    let (sender, receiver) = channel();
    thread::spawn(move || serve::run(session, &settings, &|address| sender.send(address).unwrap()));
    receiver.recv().unwrap()
}

/// Sends bytes, and returns the answer.
fn exchanged(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn request(line: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("{line} HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
        .into_bytes()
}

fn posted(address: SocketAddr, path: &str, body: &Value) -> (u16, String) {
    let answer = exchanged(address, &request(&format!("POST {path}"), "", &body.to_string()));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

fn completed(address: SocketAddr, body: &Value) -> (u16, Value) {
    let (status, body) = posted(address, "/v1/completions", body);
    (status, serde_json::from_str(&body).unwrap())
}

#[test]
fn answers_are_those_of_generate() {
    let address = started(8);
    let answer = exchanged(address, &request("GET /v1/models?x=1", "", ""));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains(r#""id":"adder""#), "{answer}");
    assert!(exchanged(address, &request("GET /v1/models/%61dder", "", "")).starts_with("HTTP/1.1 200"));
    let (status, answer) = completed(address, &json!({ "model": "adder", "prompt": "123+456=" }));
    assert_eq!((status, &answer["choices"][0]["text"]), (200, &json!(" 579")));
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer["usage"]["prompt_tokens"], 8);
    assert_eq!(answer["usage"]["completion_tokens"], 5);
    let short = json!({ "prompt": "123+456=", "max_tokens": 2, "temperature": 0 });
    let (_, answer) = completed(address, &short);
    assert_eq!(
        (&answer["choices"][0]["text"], &answer["usage"]["completion_tokens"]),
        (&json!(" 5"), &json!(2))
    );
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let stopped = json!({ "prompt": [5, 2, 5, 3], "stop": "2" });
    let (_, answer) = completed(address, &stopped);
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert!(!answer["choices"][0]["text"].as_str().unwrap().contains('2'));
}

#[test]
fn parts_of_a_stream_are_the_answer() {
    let address = started(8);
    let body = json!({ "prompt": "123+456=", "stream": true, "stream_options": { "include_usage": true } });
    let (status, text) = posted(address, "/v1/completions", &body);
    assert_eq!(status, 200);
    let parts: Vec<&str> = text.split("\n\n").filter_map(|part| part.strip_prefix("data: ")).collect();
    let (last, parts) = parts.split_last().unwrap();
    assert_eq!(*last, "[DONE]");
    let parts: Vec<Value> = parts.iter().map(|part| serde_json::from_str(part).unwrap()).collect();
    let text: String = parts.iter().filter_map(|part| part["choices"][0]["text"].as_str()).collect();
    assert_eq!(text, " 579");
    assert_eq!(parts[parts.len() - 1]["usage"]["total_tokens"], 13);
    assert_eq!(parts[parts.len() - 2]["choices"][0]["finish_reason"], "stop");
    // An error before the first part has a status.
    let wrong = json!({ "prompt": "1*1=", "stream": true });
    assert_eq!(posted(address, "/v1/completions", &wrong).0, 400);
}

#[test]
fn wrong_requests_are_refused_with_a_reason() {
    let address = started(8);
    for (body, status, reason) in [
        (json!({ "prompt": "1*1=" }), 400, "alphabet"),
        (json!({ "prompt": "123456+789123=" }), 400, "exceed the limit of 12"),
        (json!({ "prompt": [99] }), 400, "vocabulary"),
        (json!({ "prompt": "" }), 400, "no tokens"),
        (json!({ "prompt": ["1+1=", "2+2="] }), 400, "one each"),
        (json!({}), 400, "`prompt` is missing"),
        (json!({ "prompt": "1+1=", "model": "other" }), 404, "there is `adder`"),
        (json!({ "prompt": "1+1=", "n": 2 }), 400, "`n`"),
        (json!({ "prompt": "1+1=", "logprobs": 3 }), 400, "`logprobs`"),
        (json!({ "prompt": "1+1=", "presence_penalty": 0.5 }), 400, "`presence_penalty`"),
        (json!({ "prompt": "1+1=", "stop": [""] }), 400, "`stop`"),
        (json!({ "prompt": "1+1=", "top_p": 2 }), 400, "top-p"),
        (json!({ "prompt": "1+1=", "max_tokens": -1 }), 400, "not a valid request"),
        (json!([]), 400, "not a valid request"),
    ] {
        let (found, answer) = completed(address, &body);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(found == status && message.contains(reason), "{body}: {found} {message}");
    }
    let legal = json!({ "prompt": "1+1=", "n": 1, "presence_penalty": 0.0, "logit_bias": {}, "user": "x" });
    assert_eq!(completed(address, &legal).0, 200);
    let chat = json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }] });
    let (status, answer) = posted(address, "/v1/chat/completions", &chat);
    assert!(status == 400 && answer.contains("no template"), "{status} {answer}");
}

#[test]
fn only_known_names_and_pages_may_use_the_model() {
    let address = started(8);
    let with = |host: &str, more: &str| {
        let text = format!("GET /v1/models HTTP/1.1\r\n{host}{more}\r\n");
        exchanged(address, text.as_bytes())[9..12].to_owned()
    };
    for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.0.7", "npu.test:1"] {
        assert_eq!(with(&format!("Host: {host}\r\n"), ""), "200", "{host}");
    }
    for host in ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test:80", ""] {
        assert_eq!(with(&format!("Host: {host}\r\n"), ""), "421", "{host}");
    }
    assert_eq!(with("", ""), "421");
    assert_eq!(with("Host: localhost\r\n", "Origin: http://evil.test\r\n"), "403");
    assert_eq!(with("Host: localhost\r\n", "Origin: null\r\n"), "403");
    let page = exchanged(address, &request("OPTIONS /v1/completions", "Origin: http://page.test\r\n", ""));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("\r\nAccess-Control-Allow-Origin: http://page.test\r\n"), "{page}");
}

#[test]
fn requests_have_limits() {
    let address = started(8);
    let status = |bytes: &[u8]| exchanged(address, bytes).get(9..12).map(str::to_owned);
    assert_eq!(status(b"nonsense\r\n\r\n").as_deref(), Some("400"));
    assert_eq!(status(&request("GET /other", "", "")).as_deref(), Some("404"));
    assert_eq!(status(&request("PUT /v1/models", "", "")).as_deref(), Some("405"));
    let head = |line: &str| {
        format!("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n").into_bytes()
    };
    assert_eq!(status(&head("Content-Length: 99999999")).as_deref(), Some("413"));
    assert_eq!(status(&head("Content-Length: 99999999999999999999999")).as_deref(), Some("413"));
    assert_eq!(status(&head("Content-Length: +1")).as_deref(), Some("400"));
    assert_eq!(status(&head("Content-Length: 1\r\nContent-Length: 2")).as_deref(), Some("400"));
    assert_eq!(status(&head("Transfer-Encoding: chunked")).as_deref(), Some("411"));
    assert_eq!(status(&head(&format!("X: {}", "x".repeat(40_000)))).as_deref(), Some("431"));
    let many: String = (0..80).map(|index| format!("X{index}: 1\r\n")).collect();
    assert_eq!(status(&head(many.trim_end())).as_deref(), Some("400"));
    // A body that waits for permission gets it.
    let body = r#"{"prompt":"1+1="}"#;
    let mut stream = TcpStream::connect(address).unwrap();
    let line = format!("Content-Length: {}\r\nExpect: 100-continue", body.len());
    stream.write_all(&head(&line)).unwrap();
    let mut permission = [0; 25];
    stream.read_exact(&mut permission).unwrap();
    assert_eq!(&permission, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Half a request is not answered.
    let mut half = TcpStream::connect(address).unwrap();
    half.write_all(b"GET /v1/models HT").unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert_eq!(half.read_to_string(&mut String::new()).unwrap(), 0);
}

/// Clients that leave do not delay the next one for long, and none of the others loses an answer.
#[test]
fn many_clients_get_their_answers() {
    let address = started(64);
    let body = json!({ "prompt": "123+456=" }).to_string();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&request("POST /v1/completions", "", &body)).unwrap();
    }
    let answer = move |index: usize| {
        let (status, answer) = completed(address, &json!({ "prompt": format!("{index}+1=") }));
        (status, answer["choices"][0]["text"].clone())
    };
    let clients: Vec<_> = (0..40).map(|index| thread::spawn(move || answer(index))).collect();
    for (index, client) in clients.into_iter().enumerate() {
        let found = client.join().unwrap();
        assert_eq!(found, answer(index));
        assert_eq!(found.0, 200);
    }
}

#[test]
fn a_full_queue_refuses_more() {
    let address = started(1);
    let body = json!({ "prompt": "123+456=" }).to_string();
    let end = Instant::now() + Duration::from_secs(60);
    let asked = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&request("POST /v1/completions", "", &body)).unwrap();
        stream
    };
    loop {
        let streams: Vec<TcpStream> = (0..20).map(asked).collect();
        let answers = streams.into_iter().map(|mut stream| {
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        let (answered, refused): (Vec<String>, Vec<String>) =
            answers.partition(|answer| answer.starts_with("HTTP/1.1 200"));
        assert!(!answered.is_empty() && Instant::now() < end);
        if let Some(first) = refused.first() {
            assert!(first.starts_with("HTTP/1.1 503") && first.contains("the queue is full"), "{first}");
            break;
        }
    }
}
